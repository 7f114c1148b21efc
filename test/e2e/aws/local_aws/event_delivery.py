"""EventBridge: delivery to functions with Lambda's retries, dead letters of rules, and tests that play AWS."""
import json

from ministack.services import eventbridge, lambda_svc

from local_aws import dead_letters, invocations


def install():
    put_events, invoke_target = eventbridge._put_events, eventbridge._invoke_target

    def invoke_or_give_up(target, event, rule, view=None):
        arn, queue = target.get("Arn", ""), (target.get("DeadLetterConfig") or {}).get("Arn")
        if ":lambda:" not in arn or lambda_svc._get_func_record_for_ref(arn)[0] is not None:
            invoke_target(target, event, rule, view)
        elif queue:
            view = view or eventbridge._pattern_event_view(event)
            dead_letters.send(queue, json.dumps(view.event_with_detail()), {
                "ERROR_CODE": "RESOURCE_NOT_FOUND", "ERROR_MESSAGE": f"{arn} not found",
                "RULE_ARN": rule.get("Arn", ""), "TARGET_ARN": arn})

    eventbridge._dispatch_to_lambda = dispatch_to_lambda
    eventbridge._invoke_target = invoke_or_give_up
    # AWS refuses `aws.*` sources of anybody; here the tests send what EC2 and Auto Scaling would.
    eventbridge._put_events = lambda data, allow_aws_source=True: put_events(data, allow_aws_source=True)


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
