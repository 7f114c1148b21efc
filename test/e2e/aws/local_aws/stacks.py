"""CloudFormation: properties of functions that MiniStack's provisioner drops."""
from ministack.services import lambda_svc
from ministack.services.cloudformation import provisioners


def install():
    create, update = provisioners._lambda_create, provisioners._lambda_update

    def create_function(logical_id, props, stack):
        name, attributes = create(logical_id, props, stack)
        keep(name, props)
        return name, attributes

    def update_function(physical_id, old, new, stack, logical_id=None):
        result = update(physical_id, old, new, stack, logical_id)
        keep(result[0], new)
        return result

    provisioners._lambda_create = create_function
    provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"].update(create=create_function, update=update_function)


def keep(name, props):
    config = lambda_svc._functions[name]["config"]
    if props.get("DurableConfig"):
        config["DurableConfig"] = {**{key: int(value) for key, value in props["DurableConfig"].items()}, "Enabled": True}
    if props.get("DeadLetterConfig"):
        config["DeadLetterConfig"] = props["DeadLetterConfig"]
