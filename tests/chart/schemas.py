"""Makes JSON Schemas that kubeconform reads.

    schemas.py core FROM TO    of a Python package's copy of the schemas of Kubernetes
    schemas.py crds FROM TO    of definitions of custom resources, one file a group, kind and version
"""

import json
import pathlib
import sys

import yaml


def core(source: pathlib.Path, target: pathlib.Path) -> None:
    """The package's references lead to an address of its own; kubeconform looks beside the file."""
    target.mkdir(parents=True)
    for file in source.glob("*.json"):
        schema = json.loads(file.read_text())
        schema.pop("$id", None)
        text = json.dumps(schema).replace("/api/_definitions.json", "_definitions.json")
        (target / file.name).write_text(text)


def close(schema):
    """Refuses what is not named: a misspelt field is one that does nothing."""
    if isinstance(schema, list):
        return [close(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: close(value) for name, value in schema.items()}
    if closed.pop("x-kubernetes-int-or-string", False):
        closed.pop("type", None)
        closed["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    is_open = closed.pop("x-kubernetes-preserve-unknown-fields", False) or "additionalProperties" in closed
    if isinstance(closed.get("properties"), dict) and not is_open and closed.get("type", "object") == "object":
        closed["additionalProperties"] = False
    return closed


def crds(source: pathlib.Path, target: pathlib.Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.glob("*.yaml")):
        for definition in yaml.safe_load_all(file.read_text()):
            if not definition or definition.get("kind") != "CustomResourceDefinition":
                continue
            spec = definition["spec"]
            for version in spec["versions"]:
                schema = close(version["schema"]["openAPIV3Schema"])
                properties = schema.setdefault("properties", {})
                properties.update(apiVersion={"type": "string"}, kind={"type": "string"}, metadata={"type": "object"})
                folder = target / spec["group"]
                folder.mkdir(exist_ok=True)
                name = f"{spec['names']['kind'].lower()}_{version['name']}.json"
                (folder / name).write_text(json.dumps(schema))


if __name__ == "__main__":
    what, source, target = sys.argv[1:]
    {"core": core, "crds": crds}[what](pathlib.Path(source), pathlib.Path(target))
