# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of campaign files, for editors; `make schema` writes the shipped file again."""

from __future__ import annotations

import json
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
    _define_checks(definitions)
    entry = definitions["CaseEntry"]
    entry["properties"]["check"]["enum"] = sorted(CHECKS)
    entry["allOf"] = [
        {
            "if": {"properties": {"check": {"const": check}}, "required": ["check"]},
            "then": {
                "properties": {
                    "fixed": {"$ref": f"#/$defs/{check}"},
                    "matrix": {"$ref": f"#/$defs/{check}.matrix"},
                }
            },
        }
        for check in sorted(CHECKS)
    ]
    command = definitions["CommandEntry"]["properties"]
    for brought in (command, definitions["ReframeEntry"]["properties"]):
        for name in brought.keys() & entry["properties"].keys():
            brought[name] = {"$ref": f"#/$defs/CaseEntry/properties/{name}"}
    names = [{"enum": sorted(CHECKS)}, command["name"]]
    schema["properties"]["weights"]["propertyNames"] = {"anyOf": names}
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **_without_titles(schema), "title": "Assay campaign"}


def _define_checks(definitions: JsonSchema) -> None:
    """Add parameters and axes of each check; what checks share refers to the first that has it."""
    sizing = SizingKeys.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions |= sizing["$defs"]
    definitions["axis"] = {"type": "array", "minItems": 1}
    known = dict[tuple[str, str], str]()
    for check in sorted(CHECKS):
        parameters, axes = JsonSchema(), JsonSchema()
        for name, node in _parameters(check, sizing["properties"], definitions).items():
            first = known.setdefault((name, json.dumps(node)), check)
            place = f"#/$defs/{first}"
            parameters[name] = {"$ref": f"{place}/properties/{name}"}
            axes[name] = {"$ref": f"{place}.matrix/properties/{name}"}
            if first == check:
                about = {key: node[key] for key in ("description", "unit")}
                axes[name] = {"$ref": "#/$defs/axis", "items": parameters[name], **about}
                parameters[name] = node
        together = {"$ref": "#/$defs/axis", "items": {"$ref": f"#/$defs/{check}"}}
        definitions[check] = _mapping(parameters, False) | {"type": "object"}
        definitions[f"{check}.matrix"] = _mapping(axes, together)


def _mapping(properties: JsonSchema, others: object) -> JsonSchema:
    return {"properties": properties, "additionalProperties": others}


def _parameters(check: str, sizing: JsonSchema, definitions: JsonSchema) -> JsonSchema:
    """Parameters that an entry of a check may set; adds to the definitions what they refer to."""
    model = CHECKS[check].parameters.model_json_schema(
        by_alias=True, ref_template="#/$defs/{model}"
    )
    definitions |= model.pop("$defs", {})
    parameters: JsonSchema = model["properties"]
    parameters |= {name: sizing[name] for name in sorted(CHECKS[check].sizing)}
    # A campaign may leave these to the site.
    words = [{"enum": ["fill", "half", LINK]}, sizing["ranks_per_node"]["anyOf"][0]]
    for name, further in (("ranks_per_node", words), ("turns", [{"const": "auto"}])):
        if name in parameters:
            parameters[name] = alternatives(parameters[name], further)
    return parameters


def alternatives(node: JsonSchema, further: list[JsonSchema]) -> JsonSchema:
    """The schema `node`, or one of the further ones."""
    about: JsonSchema = {
        key: node[key] for key in ("description", "unit", "default") if key in node
    }
    own = node.get("anyOf") or [{k: v for k, v in node.items() if k not in about and k != "title"}]
    return {"anyOf": [*own, *(one for one in further if one not in own)], **about}


def _without_titles(node: Any) -> Any:
    """A schema without the titles, which only repeat the keys."""
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        k: _without_titles(v) for k, v in node.items() if not (k == "title" and isinstance(v, str))
    }
