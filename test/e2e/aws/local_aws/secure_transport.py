"""IAM: the local endpoint is plain HTTP, which would break every policy that asks for TLS (bootstrap bucket, queues)."""
from ministack.core import iam_evaluator


def install():
    resolve = iam_evaluator._resolve_condition_key

    def resolve_condition_key(key, context):
        return "true" if key.lower() == "aws:securetransport" else resolve(key, context)

    iam_evaluator._resolve_condition_key = resolve_condition_key
