"""EventBridge: delivery to functions with Lambda's retries, dead letters of rules, and tests that play AWS."""
import json

from ministack.services import eventbridge, lambda_svc

from local_aws import dead_letters, invocations, service_rights

SERVICE = "events.amazonaws.com"


def install():
    put_events, invoke_target = eventbridge._put_events, eventbridge._invoke_target

    def invoke(target, event, rule, view=None):
        arn = target.get("Arn", "")
        refusal = refusal_of(arn, rule.get("Arn", "")) if is_of_rule(event) and ":lambda:" in arn else None
        if refusal is None:
            invoke_target(target, event, rule, view)
        else:
            give_up(target, event, rule, view, *refusal)

    eventbridge._dispatch_to_lambda = dispatch_to_lambda
    eventbridge._invoke_target = invoke
    # AWS refuses `aws.*` sources of anybody; here the tests send what EC2 and Auto Scaling would.
    eventbridge._put_events = lambda data, allow_aws_source=True: put_events(data, allow_aws_source=True)


def is_of_rule(event):
    return event.get("Source") != "aws.scheduler"


def refusal_of(target_arn, rule_arn):
    """Why EventBridge cannot invoke the target: (code, message), or None."""
    found, _, name = lambda_svc._get_func_record_for_ref(target_arn)
    if found is None:
        return "RESOURCE_NOT_FOUND", f"{target_arn} not found"
    # An alias leads to a version, and only the function itself has the policy.
    if not service_rights.may_invoke(SERVICE, rule_arn, lambda_svc._functions[name], target_arn):
        return "NO_PERMISSIONS", f"{target_arn} does not let {rule_arn} in"
    return None


def give_up(target, event, rule, view, code, message):
    queue, rule_arn = (target.get("DeadLetterConfig") or {}).get("Arn"), rule.get("Arn", "")
    if queue and service_rights.may_send(SERVICE, rule_arn, queue):
        view = view or eventbridge._pattern_event_view(event)
        dead_letters.send(queue, json.dumps(view.event_with_detail()), {
            "ERROR_CODE": code, "ERROR_MESSAGE": message, "RULE_ARN": rule_arn, "TARGET_ARN": target["Arn"]})


def dispatch_to_lambda(arn, payload):
    function, config, name = lambda_svc._get_func_record_for_ref(arn)
    event = json.loads(payload)
    if config.get("DurableConfig"):
        qualifier = arn.split(":")[7] if arn.count(":") == 7 else None
        status, _, body = invocations.start_execution(name, qualifier, json.dumps(event))
        if status >= 400:
            raise RuntimeError(body)
        return
    # The record names the qualifier that was invoked: its retries hold.
    record = lambda_svc._execution_record_for_config(function, dict(config, FunctionArn=arn))
    lambda_svc.invoke_async_with_retry(record, event)
