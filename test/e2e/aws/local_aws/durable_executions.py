"""Lambda's durable executions: started by Event invocations, suspended, resumed on their version, ended with a trace."""
import json
import os
import time

from ministack.core.responses import new_uuid
from ministack.services import cloudwatch, lambda_durable, lambda_svc

from local_aws import background, dead_letters

ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT", "STOPPED")
# How often Lambda repeats an invocation that crashed.
CRASH_RETRIES = 3
METRICS = {"SUCCEEDED": "DurableExecutionSucceeded", "FAILED": "DurableExecutionFailed",
           "TIMED_OUT": "DurableExecutionTimedOut", "STOPPED": "DurableExecutionStopped"}
theirs = {}


def install():
    for name in ("_apply_update", "_next_expiry", "mark_execution_completed", "_time_out_execution", "handle_stop",
                 "handle_list_by_function"):
        theirs[name] = getattr(lambda_durable, name)
    lambda_durable._apply_update = apply_update
    lambda_durable._next_expiry = next_expiry
    lambda_durable._resume_execution = resume
    lambda_durable.mark_execution_completed = complete
    lambda_durable._time_out_execution = time_out
    lambda_durable.handle_stop = stop
    lambda_durable.handle_list_by_function = list_by_function


def started(record):
    count(record, "DurableExecutionStarted")


def drive(arn):
    """One invocation of the execution; repeated while the invocation itself crashes."""
    record = lambda_durable._executions.get(arn)
    if not record or record["Status"] != "RUNNING" or record.get("_Driving"):
        return
    record["_Driving"] = True
    try:
        result = invoke(record)
    finally:
        record["_Driving"] = False
    if result is None:
        return
    body = result.get("body")
    if result.get("error"):
        told = body if isinstance(body, dict) else {}
        complete(arn, None, {"ErrorType": told.get("errorType", "Unhandled"),
                             "ErrorMessage": told.get("errorMessage", str(body))})
        return
    answer = json.loads(body) if isinstance(body, (str, bytes)) else (body or {})
    if answer.get("Status") == "SUCCEEDED":
        complete(arn, answer.get("Result"), None)
    elif answer.get("Status") == "FAILED":
        complete(arn, None, answer.get("Error") or {"ErrorType": "Unknown"})
    else:
        lambda_durable.schedule_resume(arn)


def invoke(record):
    """The invocation's result; None where the function is gone or the execution was ended meanwhile."""
    arn = record["DurableExecutionArn"]
    for attempt in range(CRASH_RETRIES + 1):
        function = version_of(record)
        if function is None or record["Status"] != "RUNNING":
            return None
        token = record["CheckpointToken"] = lambda_durable.new_checkpoint_token()
        lambda_svc._durable_ctx.set({"arn": arn, "token": token, "name": record["DurableExecutionName"]})
        operations = lambda_durable._serialize_operations(record["Operations"], for_event=True)
        event = {"DurableExecutionArn": arn, "CheckpointToken": token,
                 "InitialExecutionState": {"Operations": operations, "NextMarker": ""}}
        began = time.time()
        try:
            result = lambda_svc._execute_function(function, event)
        finally:
            lambda_svc._durable_ctx.set(None)
        error = result.get("body") if result.get("error") else None
        lambda_durable.record_invocation_completed(arn, start_ts=began, request_id=new_uuid(), error=error)
        if not result.get("error"):
            return result
        time.sleep(float(os.environ["LAMBDA_ASYNC_RETRY_BASE_SECONDS"]) * 2 ** attempt)
    return result


def version_of(record):
    """The function as it was in the version that the execution started on; None once it is deleted."""
    function = lambda_svc._functions.get(function_name(record))
    if function is None:
        return None
    version = record["Version"]
    found = dict(function.get("versions", {}).get(version) or function)
    found["config"] = {**(found.get("config") or found), "FunctionArn": f"{record['FunctionArn']}:{version}"}
    return found


def function_name(record):
    return record["FunctionArn"].rsplit(":", 1)[-1]


def apply_update(record, update):
    """A step that waits keeps its state and number of attempts, and an operation ends once."""
    operation, action = operation_of(record, update.get("Id")), update.get("Action")
    if operation and operation.get("Status") in ENDED and action in ("SUCCEED", "FAIL", "RETRY"):
        raise lambda_durable._InvalidUpdate(f"Invalid current {update.get('Type')} state to close.")
    theirs["_apply_update"](record, update)
    if update.get("Type") != "STEP":
        return
    operation = operation_of(record, update["Id"])
    details = operation["StepDetails"]
    if action == "START":
        details.pop("NextAttemptTimestamp", None)
    if action == "RETRY":
        operation["Status"] = "PENDING"
        details["Attempt"] = details.get("Attempt", 0) + 1
        if update.get("Payload") is not None:
            details["Result"] = update["Payload"]


def operation_of(record, operation_id):
    return next((operation for operation in record["Operations"] if operation.get("Id") == operation_id), None)


def next_expiry(record):
    times = [operation["StepDetails"]["NextAttemptTimestamp"] for operation in record.get("Operations", [])
             if operation.get("Type") == "STEP" and operation.get("Status") == "PENDING"]
    first = theirs["_next_expiry"](record)
    return min(times + ([first] if first is not None else []), default=None)


def resume(arn, account_id="000000000000", region=None):
    record = lambda_durable._executions.get(arn)
    if not record or record["Status"] != "RUNNING":
        return
    now = time.time()
    if record.get("_TimeoutDeadline") is not None and now >= record["_TimeoutDeadline"]:
        time_out(record)
        return
    if record.get("_Driving"):
        return  # it asks for its next time itself
    if any([wakes(operation, now) for operation in record["Operations"]]):
        background.run(drive, arn)
    else:
        lambda_durable.schedule_resume(arn)


def wakes(operation, now):
    """Marks what has waited long enough."""
    if operation["Type"] == "STEP" and operation["Status"] == "PENDING":
        if operation["StepDetails"]["NextAttemptTimestamp"] > now:
            return False
        operation["Status"] = "READY"
        return True
    if operation["Type"] == "WAIT" and operation["Status"] == "STARTED":
        if operation["WaitDetails"].get("ScheduledEndTimestamp", now + 1) > now:
            return False
        operation.update(Status="SUCCEEDED", EndTimestamp=now)
        return True
    return False


def complete(arn, result, error):
    ending(lambda_durable._executions.get(arn), lambda: theirs["mark_execution_completed"](arn, result, error))


def time_out(record):
    ending(record, lambda: theirs["_time_out_execution"](record))


def stop(arn, body):
    return ending(lambda_durable._executions.get(arn), lambda: theirs["handle_stop"](arn, body))


def ending(record, end):
    """Ends the execution; if that is what ended it, its input goes to the dead letters and its end is counted."""
    was_running = record is not None and record["Status"] == "RUNNING"
    answer = end()
    if was_running and record["Status"] in METRICS:
        dead_letter(record)
        count(record, METRICS[record["Status"]])
    return answer


def dead_letter(record):
    config = (version_of(record) or {}).get("config", {})
    queue = (config.get("DeadLetterConfig") or {}).get("TargetArn")
    if queue and record["Status"] != "SUCCEEDED":
        message = (record.get("Error") or {}).get("ErrorMessage") or record["Status"]
        dead_letters.send_as(config["Role"], queue, record["InputPayload"], {
            "RequestID": new_uuid(), "ErrorCode": "200", "ErrorMessage": message,
            "DurableExecutionArn": record["DurableExecutionArn"]})


def count(record, metric):
    cloudwatch.record_metric("AWS/Lambda", metric, 1, "Count", {"FunctionName": function_name(record)})
    cloudwatch._evaluate_all_alarms()


def list_by_function(name, query, lookup):
    """Without a qualifier: the executions of every version."""
    ask = theirs["handle_list_by_function"]
    if lambda_durable._qp_first(query, "Qualifier"):
        return ask(name, query, lookup)
    arn = lookup(name)
    versions = sorted({record["Version"] for record in lambda_durable._executions.values()
                       if record["FunctionArn"] == arn}) or ["$LATEST"]
    found = []
    for version in versions:
        status, headers, body = ask(name, {**query, "Qualifier": version}, lookup)
        if status != 200:
            return status, headers, body
        found += json.loads(body)["DurableExecutions"]
    newest_first = sorted(found, key=lambda execution: -execution["StartTimestamp"])
    return status, headers, json.dumps({"DurableExecutions": newest_first}).encode()
