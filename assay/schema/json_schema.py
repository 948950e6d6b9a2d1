# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of campaign files, for editors; `make schema` writes the shipped file again."""

from __future__ import annotations

from typing import Any

from assay import ROOT
from assay.schema.model import Campaign
from checks.common.registry import CHECKS
from checks.common.sizing import LINK, SizingKeys

SCHEMA_FILE = ROOT / "campaigns" / "campaign.schema.json"

JsonSchema = dict[str, Any]


def campaign_schema() -> JsonSchema:
    """A JSON Schema (draft 2020-12) with a description and a unit on every key.

    Each check has two definitions: its parameters, which `fixed` gives, and its axes in `matrix`.
    """
    schema = Campaign.model_json_schema(by_alias=True)
    definitions: JsonSchema = schema["$defs"]
    entry, command = definitions["CaseEntry"], definitions["CommandEntry"]["properties"]
    entry["properties"]["check"]["enum"] = sorted(CHECKS)
    entry["allOf"] = []
    for check in sorted(CHECKS):
        _define(check, definitions)
        keys = {"fixed": f"#/$defs/{check}", "matrix": f"#/$defs/{check}.matrix"}
        then = {"properties": {key: {"$ref": place} for key, place in keys.items()}}
        named = {"properties": {"check": {"const": check}}, "required": ["check"]}
        entry["allOf"].append({"if": named, "then": then})
    for brought in (command, definitions["ReframeEntry"]["properties"]):
        for name in brought.keys() & entry["properties"].keys():
            brought[name] = {"$ref": f"#/$defs/CaseEntry/properties/{name}"}
    names = [{"enum": sorted(CHECKS)}, command["name"]]
    schema["properties"]["weights"]["propertyNames"] = {"anyOf": names}
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **schema, "title": "Assay campaign"}


def _define(check: str, definitions: JsonSchema) -> None:
    """Add the parameters of a check, its axes, and what they refer to."""
    sizing = SizingKeys.model_json_schema(by_alias=True)
    model = CHECKS[check].parameters.model_json_schema(by_alias=True)
    definitions |= sizing["$defs"] | model.get("$defs", {})
    keys: JsonSchema = sizing["properties"]
    parameters: JsonSchema = model["properties"]
    parameters |= {name: keys[name] for name in sorted(CHECKS[check].sizing)}
    # A campaign may leave these to the site.
    words = [{"enum": ["fill", "half", LINK]}, keys["ranks_per_node"]["anyOf"][0]]
    for name, further in (("ranks_per_node", words), ("turns", [{"const": "auto"}])):
        if name in parameters:
            parameters[name] = alternatives(parameters[name], further)
    place, axes = f"#/$defs/{check}", JsonSchema()
    for name, node in parameters.items():
        about = {key: node[key] for key in ("description", "unit")}
        axes[name] = _axis(f"{place}/properties/{name}") | about
    definitions[check] = {"type": "object", "properties": parameters, "additionalProperties": False}
    definitions[f"{check}.matrix"] = {"properties": axes, "additionalProperties": _axis(place)}


def _axis(place: str) -> JsonSchema:
    return {"type": "array", "minItems": 1, "items": {"$ref": place}}


def alternatives(node: JsonSchema, further: list[JsonSchema]) -> JsonSchema:
    """The schema `node`, or one of the further ones."""
    about: JsonSchema = {
        key: node[key] for key in ("description", "unit", "default") if key in node
    }
    own = node.get("anyOf") or [{k: v for k, v in node.items() if k not in about and k != "title"}]
    return {"anyOf": [*own, *(one for one in further if one not in own)], **about}
