"""IAM: what services do in somebody's name is checked too, as AWS does and MiniStack does not."""
from ministack.core import iam_evaluator
from ministack.core.iam_evaluator import EvalContext
from ministack.core.responses import get_account_id, get_region
from ministack.services import sqs


def may_invoke(service, source_arn, function, target_arn):
    """Whether the function's own policy lets the service in, for this source."""
    context = EvalContext(
        principal_arn="*", principal_type="Service", principal_account="", action="lambda:InvokeFunction",
        resource_arn=target_arn, region=get_region(),
        service_context={"aws:sourcearn": source_arn, "aws:sourceaccount": get_account_id()})
    return iam_evaluator.evaluate_resource_policy(function.get("policy"), context, service=service).decision == "Allow"


def role_may(role_arn, action, resource_arn):
    """Whether a role that a service has assumed may do this."""
    role = role_arn.rsplit("/", 1)[-1]
    account = get_account_id()
    context = EvalContext(
        principal_arn=f"arn:aws:sts::{account}:assumed-role/{role}/service", principal_type="AssumedRole",
        principal_account=account, action=action, resource_arn=resource_arn, region=get_region())
    policies = iam_evaluator._gather_role_policies(role, account)
    return iam_evaluator.evaluate(context, policies).decision == "Allow"


def may_send(service, source_arn, queue_arn):
    """Whether the queue's policy lets the service send, for this source."""
    return sqs.queue_policy_allows(queue_arn, service, source_arn, get_account_id())
