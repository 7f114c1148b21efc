"""EKS: clusters whose API server is a real one elsewhere, and the resources that let roles and pods in."""
import os

from ministack.services import eks
from ministack.services.cloudformation import provisioners


def install():
    create = eks._create_cluster

    def create_cluster(body, creator_arn=None):
        response = create(body, creator_arn)
        cluster = eks._clusters.get(body.get("name", ""))
        if response[0] < 400 and cluster:
            cluster["endpoint"] = os.environ["LOCAL_AWS_KUBE_SERVER"]
            cluster["certificateAuthority"] = {"data": os.environ["LOCAL_AWS_KUBE_CA"]}
        return response

    eks._create_cluster = create_cluster
    provisioners._RESOURCE_HANDLERS["AWS::EKS::AccessEntry"] = {
        "create": create_access_entry, "update": update_access_entry, "delete": delete_access_entry}
    provisioners._RESOURCE_HANDLERS["AWS::EKS::PodIdentityAssociation"] = {
        "create": create_association, "delete": delete_association}


def create_access_entry(logical_id, props, stack):
    cluster, principal = props["ClusterName"], props["PrincipalArn"]
    require(eks._create_access_entry(cluster, {
        "principalArn": principal,
        "kubernetesGroups": props.get("KubernetesGroups", []),
        "type": props.get("Type", "STANDARD"),
        "username": props.get("Username") or principal}))
    entry = eks._access_entries[eks._ae_key(cluster, principal)]
    return f"{principal}|{cluster}", {"AccessEntryArn": entry["accessEntryArn"]}


def update_access_entry(physical_id, old, new, stack):
    delete_access_entry(physical_id, old)
    return create_access_entry(None, new, stack)


def delete_access_entry(physical_id, props):
    eks._delete_access_entry(props["ClusterName"], props["PrincipalArn"])


def create_association(logical_id, props, stack):
    names = {"Namespace": "namespace", "ServiceAccount": "serviceAccount", "RoleArn": "roleArn"}
    body = {theirs: props[ours] for ours, theirs in names.items()}
    require(eks._create_pod_identity_association(props["ClusterName"], body))
    made = next(association for association in eks._pod_identity_associations.values()
                if association["clusterName"] == props["ClusterName"]
                and all(association[key] == value for key, value in body.items()))
    return made["associationArn"], {"AssociationArn": made["associationArn"], "AssociationId": made["associationId"]}


def delete_association(physical_id, props):
    eks._delete_pod_identity_association(props["ClusterName"], physical_id.rsplit("/", 1)[-1])


def require(response):
    if response[0] >= 400:
        raise ValueError(f"EKS answers {response[0]}: {response[2]!r}")
