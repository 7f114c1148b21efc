"""A local AWS account for the deployment tests: MiniStack with what ebs-drain relies on and MiniStack lacks.

    python -m local_aws --state DIR

It is configured as `ministack` is (GATEWAY_PORT, BIND_HOST, AUTH), and by

    LOCAL_AWS_REGION_URL    where simulated EC2 and Auto Scaling answer, in the services' own wire format
    LOCAL_AWS_KUBE_SERVER   what EKS's DescribeCluster says of each cluster: its API server's URL ...
    LOCAL_AWS_KUBE_CA       ... and its certificate authority, PEM in base64

Every module beside this one adds one service's behaviour, by replacing functions of MiniStack's modules; nothing of
MiniStack is copied. DIR is named in the arguments so that whoever cleans up after a test can tell its processes.
"""
import sys

from local_aws import clusters, durable_executions, event_delivery, invocations, region, secure_transport, stacks

PARTS = (secure_transport, region, clusters, stacks, durable_executions, invocations, event_delivery)


def main():
    del sys.argv[1:]  # MiniStack parses the arguments too, and knows no --state
    for part in PARTS:
        part.install()
    from ministack.app import main as serve

    serve()


if __name__ == "__main__":
    main()
