"""A local AWS account for the deployment tests: MiniStack with what ebs-drain relies on and MiniStack lacks.

    python -m local_aws --state DIR

It is configured as `ministack` is (GATEWAY_PORT, BIND_HOST, AUTH), and by

    LOCAL_AWS_REGION_URL    where simulated EC2 and Auto Scaling answer, in the services' own wire format
    LOCAL_AWS_KUBE_SERVER   what EKS's DescribeCluster says of each cluster: its API server's URL ...
    LOCAL_AWS_KUBE_CA       ... and its certificate authority, PEM in base64
    LOCAL_AWS_POD_IDENTITY_PORT   where EKS Pod Identity's agent listens

Every module beside this one adds one service's behaviour, by replacing functions of MiniStack's modules; nothing of
MiniStack is copied. DIR takes the access log.
"""
import argparse
import sys

from local_aws import access_log, clusters, durable_actions, durable_executions, event_delivery, invocations
from local_aws import pod_identity_agent, region, schedules, secure_transport, stacks

PARTS = (secure_transport, durable_actions, region, clusters, pod_identity_agent, stacks,
         durable_executions, invocations, event_delivery, schedules)


def main():
    parser = argparse.ArgumentParser(prog="local_aws")
    parser.add_argument("--state", required=True, metavar="DIR")
    directory = parser.parse_args().state
    del sys.argv[1:]  # MiniStack parses them too
    access_log.install(directory)
    for part in PARTS:
        part.install()
    from ministack.app import main as serve

    serve()


if __name__ == "__main__":
    main()
