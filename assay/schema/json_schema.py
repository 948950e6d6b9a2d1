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
    What checks have in common refers to the first that has it.
    """
    schema = Campaign.model_json_schema(by_alias=True)
    sizing = SizingKeys.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions: JsonSchema = schema["$defs"] | sizing["$defs"]
    definitions["axis"] = {"type": "array", "minItems": 1}
    branches, known = [], dict[tuple[str, str], str]()
    for check in CHECKS:
        parameters = _parameters(check, sizing, definitions)
        axes = {
            name: {
                "$ref": "#/$defs/axis",
                "items": {"$ref": f"#/$defs/{check}/properties/{name}"},
                "description": node["description"],
                "unit": node["unit"],
            }
            for name, node in parameters.items()
        }
        shared = _shared(parameters, check, known)
        definitions[check] = {
            "type": "object",
            "properties": {name: shared.get(name, node) for name, node in parameters.items()},
            "additionalProperties": False,
        }
        together = {"$ref": "#/$defs/axis", "items": {"$ref": f"#/$defs/{check}"}}
        definitions[f"{check}.matrix"] = {
            "properties": axes
            | {
                name: {"$ref": node["$ref"].replace("/properties", ".matrix/properties")}
                for name, node in shared.items()
            },
            "additionalProperties": together,
        }
        parts = {
            "fixed": {"$ref": f"#/$defs/{check}"},
            "matrix": {"$ref": f"#/$defs/{check}.matrix"},
        }
        of_check = {"properties": {"check": {"const": check}}, "required": ["check"]}
        branches.append({"if": of_check, "then": {"properties": parts}})
    entry = definitions["CaseEntry"]
    entry["properties"]["check"]["enum"] = list(CHECKS)
    entry["allOf"] = branches
    schema["properties"]["weights"]["propertyNames"] = {"enum": list(CHECKS)}
    whole = {**schema, "$defs": definitions}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_without_titles(whole),
        "title": "Assay campaign",
    }


def _parameters(check: str, sizing: JsonSchema, definitions: JsonSchema) -> JsonSchema:
    """What an entry of a check may set; adds to the definitions what that refers to."""
    model = CHECKS[check].parameters.model_json_schema(
        by_alias=True, ref_template="#/$defs/{model}"
    )
    definitions |= model.pop("$defs", {})
    parameters: JsonSchema = model["properties"] | {
        name: sizing["properties"][name] for name in sorted(CHECKS[check].sizing)
    }
    for name, further in _words_of_the_site(sizing).items():
        if name in parameters:
            parameters[name] = alternatives(parameters[name], further)
    return parameters


def _shared(parameters: JsonSchema, check: str, known: dict[tuple[str, str], str]) -> JsonSchema:
    """References for those that a check before has alike; notes the others in `known`."""
    first = {
        name: known.setdefault((name, json.dumps(node)), check) for name, node in parameters.items()
    }
    return {
        name: {"$ref": f"#/$defs/{other}/properties/{name}"}
        for name, other in first.items()
        if other != check
    }


def _words_of_the_site(sizing: JsonSchema) -> dict[str, list[JsonSchema]]:
    """What a parameter may be in a campaign beside what the check takes."""
    at_most = sizing["properties"]["ranks_per_node"]["anyOf"][0]
    return {
        "ranks_per_node": [{"enum": ["fill", "half", LINK]}, at_most],
        "turns": [{"const": "auto"}],
    }


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
