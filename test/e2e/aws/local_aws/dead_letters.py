"""Messages that Lambda and EventBridge put into dead-letter queues."""
import hashlib
import time

from ministack.core.responses import get_account_id, new_uuid
from ministack.services import sqs

from local_aws import service_rights


def send(queue_arn, body, attributes):
    queue = sqs._queue_by_arn(queue_arn)
    if queue is None:
        return
    now = time.time()
    queue["messages"].append({
        "id": new_uuid(), "body": body, "md5_body": hashlib.md5(body.encode()).hexdigest(), "md5_attrs": "",
        "receipt_handle": None, "sent_at": now, "visible_at": now, "receive_count": 0, "first_receive_at": None,
        "message_attributes": {key: {"DataType": "String", "StringValue": str(value)} for key, value in attributes.items()},
        "sys": {"SenderId": get_account_id(), "SentTimestamp": str(int(now * 1000))},
        "group_id": None, "dedup_id": None, "dedup_cache_key": None, "seq": None})


def send_as(role_arn, queue_arn, body, attributes):
    """Lambda sends in the name of the function's role."""
    if service_rights.role_may(role_arn, "sqs:SendMessage", queue_arn):
        send(queue_arn, body, attributes)
