"""EC2 and Auto Scaling: requests pass MiniStack's IAM and are then answered by the simulated region.

MiniStack's own know neither lifecycle actions nor attachments that take their time.
"""
import asyncio
import os
from urllib.parse import urlencode

import urllib3
from ministack.core.iam_evaluator import caller_arn
from ministack.services import autoscaling, ec2
from ministack.services.cloudformation import provisioners

AUTO_SCALING_VERSION = "2011-01-01"
FORM = "application/x-www-form-urlencoded"

pool = urllib3.PoolManager(maxsize=64, timeout=30, retries=False)


def send(body, caller):
    """The region does not check signatures; its history names who called by what stands where the access key does."""
    headers = {"Content-Type": FORM, "Authorization": f"AWS4-HMAC-SHA256 Credential={caller}/-"}
    return pool.request("POST", os.environ["LOCAL_AWS_REGION_URL"], body=body, headers=headers)


async def forward(method, path, headers, body, query_params):
    caller = caller_arn().rsplit("/", 1)[-1]  # of a role's session: the function's name
    answer = await asyncio.to_thread(send, body, caller)
    return answer.status, {"Content-Type": answer.headers["Content-Type"]}, answer.data


def auto_scaling(action, **parameters):
    form = urlencode({"Action": action, "Version": AUTO_SCALING_VERSION, **parameters})
    answer = send(form, "cloudformation")
    if answer.status >= 400:
        raise ValueError(f"autoscaling:{action}: {answer.data.decode()}")


def put_hook(props):
    auto_scaling("PutLifecycleHook", **{key: str(value) for key, value in props.items()})
    return props["LifecycleHookName"], {"LifecycleHookName": props["LifecycleHookName"]}


def create_hook(logical_id, props, stack):
    return put_hook(props)


def update_hook(physical_id, old, new, stack):
    moved = [key for key in ("AutoScalingGroupName", "LifecycleHookName") if old.get(key) != new.get(key)]
    if moved:
        delete_hook(physical_id, old)
    return put_hook(new)


def delete_hook(physical_id, props):
    auto_scaling("DeleteLifecycleHook", AutoScalingGroupName=props["AutoScalingGroupName"], LifecycleHookName=physical_id)


def install():
    autoscaling.handle_request = forward
    ec2.handle_request = forward
    provisioners._RESOURCE_HANDLERS["AWS::AutoScaling::LifecycleHook"] = {
        "create": create_hook, "update": update_hook, "delete": delete_hook}
