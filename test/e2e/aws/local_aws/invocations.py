"""Lambda: asynchronous invocations, of durable functions and of others, as the service makes them."""
import json
import threading
import time

from ministack.core.responses import error_response_json, new_uuid
from ministack.services import lambda_durable, lambda_svc

from local_aws import background, dead_letters, durable_executions

starting = threading.Lock()


def start_execution(name, qualifier, payload, execution_name=None):
    """What an Event invocation of a durable function is: (status, headers, body)."""
    function = lambda_svc._functions[name]
    if not qualifier:
        message = "You cannot invoke a durable function using an unqualified ARN."
        return error_response_json("InvalidParameterValueException", message, 400)
    version = function.get("aliases", {}).get(qualifier, {}).get("FunctionVersion", qualifier)
    arn = lambda_svc._func_arn(name)
    with starting:
        known = execution_named(arn, execution_name) if execution_name else None
        if known and known["InputPayload"] != payload:
            message = f"Durable execution already started: {execution_name}"
            return error_response_json("DurableExecutionAlreadyStartedException", message, 409)
        record = known or lambda_durable.create_execution_for_invoke(
            function_arn=arn, version=version, input_payload=payload, name=execution_name,
            execution_timeout=function["config"]["DurableConfig"].get("ExecutionTimeout"))
    if known is None:
        durable_executions.started(record)
        background.run(durable_executions.drive, record["DurableExecutionArn"])
    return 202, {"X-Amz-Executed-Version": version, "X-Amz-Durable-Execution-Arn": record["DurableExecutionArn"]}, b""


def execution_named(function_arn, name):
    return next((record for record in lambda_durable._executions.values()
                 if record["DurableExecutionName"] == name and record["FunctionArn"] == function_arn), None)


def run_with_retries(record, event, retries, config):
    """The service's queue: the event again after a failure, and in the end as it came to the dead-letter queue."""
    for attempt in range(retries + 1):
        if attempt:
            pause = lambda_svc._LAMBDA_ASYNC_RETRY_BASE_SECONDS * 2 ** (attempt - 1)
            time.sleep(min(pause, lambda_svc._LAMBDA_ASYNC_RETRY_MAX_SECONDS))
        result = lambda_svc._execute_function_with_config_scope(record, event)
        if not result.get("error"):
            return
    body = result.get("body") if isinstance(result.get("body"), dict) else {}
    queue = (config.get("DeadLetterConfig") or {}).get("TargetArn")
    if queue:
        dead_letters.send_as(config["Role"], queue, json.dumps(event), {
            "RequestID": new_uuid(), "ErrorCode": "200", "ErrorMessage": body.get("errorMessage", "")})


def invoke_async(function, event):
    """Retries are those of the qualifier that was invoked: an alias does not take over its function's."""
    config = function.get("config") or function
    parts = config["FunctionArn"].split(":")
    qualifier = parts[7] if len(parts) == 8 else "$LATEST"
    base = lambda_svc._functions.get(config["FunctionName"]) or {}
    configured = (base.get("event_invoke_configs") or {}).get(qualifier) or {}
    retries = configured.get("MaximumRetryAttempts")
    background.run(run_with_retries, function, event, 2 if retries is None else int(retries), config)


def install():
    invoke = lambda_svc._invoke

    async def invoke_maybe_durable(name, event, headers, path_qualifier=None, query_params=None):
        function = lambda_svc._functions.get(name)
        given = {key.lower(): value for key, value in headers.items()}
        is_event = given.get("x-amz-invocation-type", "RequestResponse") == "Event"
        qualifier = path_qualifier or lambda_svc._qp_first(query_params or {}, "Qualifier") or None
        if not function or not is_event or not function["config"].get("DurableConfig"):
            return await invoke(name, event, headers, path_qualifier, query_params)
        if qualifier and not is_known(function, qualifier):
            return await invoke(name, event, headers, path_qualifier, query_params)
        return start_execution(name, qualifier, json.dumps(event), given.get("x-amz-durable-execution-name"))

    lambda_svc._invoke = invoke_maybe_durable
    lambda_svc.invoke_async_with_retry = invoke_async


def is_known(function, qualifier):
    return qualifier == "$LATEST" or qualifier in function.get("aliases", {}) or qualifier in function.get("versions", {})
