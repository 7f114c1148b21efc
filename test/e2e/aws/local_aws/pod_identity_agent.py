"""EKS Pod Identity: the agent that gives pods the credentials of their service account's role.

The real one listens on each node and sends the token on to EKS Auth, which checks its signature; here it is only read.
"""
import base64
import hashlib
import json
import os
import threading
import time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ministack.core import iam_evaluator
from ministack.core.responses import get_account_id, get_region
from ministack.services import eks, iam, sts

SERVICE = "pods.eks.amazonaws.com"
NEEDED = ("sts:AssumeRole", "sts:TagSession")
LIFETIME_SECONDS = 6 * 3600


class Refused(Exception):
    pass


def install():
    port = int(os.environ["LOCAL_AWS_POD_IDENTITY_PORT"])
    server = ThreadingHTTPServer(("127.0.0.1", port), Agent)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class Agent(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            status, body = 200, credentials_for(self.headers.get("Authorization", ""))
        except Refused as refusal:
            status, body = 400, {"message": str(refusal)}
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


def credentials_for(token):
    namespace, account = subject_of(token)
    association = next((each for each in eks._pod_identity_associations.to_dict().values()
                        if (each["namespace"], each["serviceAccount"]) == (namespace, account)), None)
    if association is None:
        raise Refused(f"no association for {namespace}/{account}")
    role = association["roleArn"]
    require_trust(role.rsplit("/", 1)[-1], association)
    return session_of(role, f"eks-{association['clusterName']}-{account}")


def subject_of(token):
    """system:serviceaccount:<namespace>:<name> in the token's claims."""
    try:
        claims = token.split(".")[1]
        subject = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"]
        _, kind, namespace, account = subject.split(":")
    except (IndexError, KeyError, ValueError) as error:
        raise Refused("not a service account's token") from error
    if kind != "serviceaccount":
        raise Refused(f"{subject} is no service account")
    return namespace, account


def require_trust(role_name, association):
    """The role has to let EKS assume it with the session tags that EKS sends."""
    role = next((each for each in iam._roles.to_dict().values() if each["RoleName"] == role_name), None)
    if role is None:
        raise Refused(f"no role {role_name}")
    document = role["AssumeRolePolicyDocument"]
    document = json.loads(document) if isinstance(document, str) else document
    statements = [each for each in document["Statement"] if SERVICE in str(each["Principal"].get("Service", ""))]
    tags = {"eks-cluster-arn": eks._cluster_arn(association["clusterName"]),
            "eks-cluster-name": association["clusterName"],
            "kubernetes-namespace": association["namespace"],
            "kubernetes-service-account": association["serviceAccount"]}
    # A service is as good as the account's root to MiniStack's evaluation; its name is checked above.
    root = f"arn:aws:iam::{get_account_id()}:root"
    for action in NEEDED:
        context = iam_evaluator.EvalContext(
            principal_arn=root, principal_type="Root", principal_account=get_account_id(), action=action,
            resource_arn=role["Arn"], region=get_region(), request_tags=tags, tag_keys=list(tags))
        if not iam_evaluator.evaluate_trust_policy({**document, "Statement": statements}, root, context):
            raise Refused(f"{role_name} does not let {SERVICE} use {action}")


def session_of(role_arn, session_name):
    digest = hashlib.sha256(f"{role_arn} {session_name}".encode()).hexdigest()
    role = role_arn.rsplit("/", 1)[-1]
    session = {"Arn": f"arn:aws:sts::{get_account_id()}:assumed-role/{role}/{session_name}",
               "UserId": f"{role}:{session_name}", "SecretAccessKey": digest[16:48], "SessionToken": digest[48:]}
    key = f"ASIA{digest[:16].upper()}"
    sts.register_session(key, session)
    expires = datetime.fromtimestamp(time.time() + LIFETIME_SECONDS, timezone.utc)
    return {"AccessKeyId": key, "SecretAccessKey": session["SecretAccessKey"], "Token": session["SessionToken"],
            "AccountId": get_account_id(), "Expiration": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
