"""IAM: every decision that was asked for, as a line of JSON in DIR/access.jsonl: who used which right, and when."""
import json
import threading
import time

from ministack.core import iam_evaluator

writing = threading.Lock()


def install(directory):
    enforce = iam_evaluator.enforce
    log = open(f"{directory}/access.jsonl", "a", buffering=1)  # line by line: a test reads it while this process runs

    def enforce_and_tell(access_key, action, service, region, resource_arn="*", service_context=None):
        denied = enforce(access_key, action, service, region, resource_arn=resource_arn, service_context=service_context)
        line = json.dumps({"at": int(time.time() * 1000), "principal": iam_evaluator.caller_arn(),
                           "action": action, "resource": resource_arn, "allowed": denied is None})
        with writing:
            log.write(line + "\n")
        return denied

    iam_evaluator.enforce = enforce_and_tell
