"""EventBridge Scheduler: the schedule's role has to allow what it does, and the target's input may name the schedule's time."""
import json
from datetime import datetime, timezone

from ministack.services import eventbridge

from local_aws import dead_letters, service_rights

SERVICE = "scheduler.amazonaws.com"
TIME = "<aws.scheduler.scheduled-time>"


def install():
    invoke_target = eventbridge._invoke_target

    def invoke(target, event, rule, view=None):
        if event.get("Source") != "aws.scheduler":
            return invoke_target(target, event, rule, view)
        text = target.get("Input", "").replace(TIME, iso(event["Time"]))
        if service_rights.role_may(target.get("RoleArn", ""), "lambda:InvokeFunction", target["Arn"]):
            return invoke_target({**target, "Input": text}, event, rule, view)
        queue = (target.get("DeadLetterConfig") or {}).get("Arn")
        if queue and service_rights.role_may(target["RoleArn"], "sqs:SendMessage", queue):
            dead_letters.send(queue, text, {
                "ERROR_CODE": "AccessDeniedException", "ERROR_MESSAGE": f"{target['RoleArn']} may not invoke {target['Arn']}"})

    eventbridge._invoke_target = invoke


def iso(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
