"""IAM: the actions of Lambda's durable API, which MiniStack lets everybody use."""
from urllib.parse import unquote

from ministack.core import iam_actions

API = "2025-12-01"
OF_EXECUTIONS = {"checkpoint": "CheckpointDurableExecution", "state": "GetDurableExecutionState",
                 "history": "GetDurableExecutionHistory", "stop": "StopDurableExecution"}


def parse(path):
    """(action, the execution's ARN or the function's name), or None for another API's path."""
    api, _, rest = unquote(path).lstrip("/").partition("/")
    kind, _, rest = rest.partition("/")
    if api != API:
        return None
    if kind == "functions" and rest.endswith("/durable-executions"):
        return "ListDurableExecutionsByFunction", rest.removesuffix("/durable-executions")
    if kind != "durable-executions":
        return None
    arn, _, last = rest.rpartition("/")
    return (OF_EXECUTIONS[last], arn) if last in OF_EXECUTIONS else ("GetDurableExecution", rest)


def install():
    action_of, resource_of = iam_actions.extract_iam_action, iam_actions.extract_resource_arn

    def extract_iam_action(service, method, path, *others):
        found = parse(path) if service == "lambda" else None
        return f"lambda:{found[0]}" if found else action_of(service, method, path, *others)

    def extract_resource_arn(service, method, path, headers, body, query_params, region, account_id):
        found = parse(path) if service == "lambda" else None
        if found is None:
            return resource_of(service, method, path, headers, body, query_params, region, account_id)
        name = found[1]
        arn = name if name.startswith("arn:") else f"arn:aws:lambda:{region}:{account_id}:function:{name}"
        qualifier = query_params.get("Qualifier")
        qualifier = qualifier[0] if isinstance(qualifier, list) else qualifier
        return f"{arn}:{qualifier}" if qualifier else arn

    iam_actions.extract_iam_action = extract_iam_action
    iam_actions.extract_resource_arn = extract_resource_arn
