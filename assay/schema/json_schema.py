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
    """A JSON Schema (draft 2020-12) with a description and a unit on every key."""
    schema = Campaign.model_json_schema(by_alias=True)
    definitions: JsonSchema = schema["$defs"]
    entry = definitions["CaseEntry"]
    entry["properties"]["check"]["enum"] = list(CHECKS)
    entry["allOf"] = [_branch(name, definitions) for name in CHECKS]
    schema["properties"]["weights"]["propertyNames"] = {"enum": list(CHECKS)}
    schema["title"] = "Assay campaign"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_without_titles(schema),
    }


def _branch(check: str, definitions: JsonSchema) -> JsonSchema:
    """What `fixed` and `matrix` may hold in an entry of this check."""
    model = CHECKS[check].parameters.model_json_schema(
        by_alias=True, ref_template="#/$defs/{model}"
    )
    sizing = SizingKeys.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions |= model.pop("$defs", {}) | sizing.pop("$defs")
    parameters: JsonSchema = model["properties"] | {
        name: sizing["properties"][name] for name in sorted(CHECKS[check].sizing)
    }
    for name, further in _words_of_the_site(sizing).items():
        if name in parameters:
            parameters[name] = _or(parameters[name], further)
    axes = {
        name: {
            "type": "array",
            "minItems": 1,
            "items": {k: v for k, v in parameter.items() if k != "default"},
            "description": parameter["description"],
            "unit": parameter["unit"],
        }
        for name, parameter in parameters.items()
    }
    together = {"type": "object", "properties": parameters, "additionalProperties": False}
    return {
        "if": {"properties": {"check": {"const": check}}, "required": ["check"]},
        "then": {
            "properties": {
                "fixed": together,
                "matrix": {
                    "properties": axes,
                    "additionalProperties": {"type": "array", "minItems": 1, "items": together},
                },
            }
        },
    }


def _words_of_the_site(sizing: JsonSchema) -> dict[str, list[JsonSchema]]:
    """What a parameter may be in a campaign beside what the check takes."""
    at_most = sizing["properties"]["ranks_per_node"]["anyOf"][0]
    return {
        "ranks_per_node": [{"enum": ["fill", "half", LINK]}, at_most],
        "turns": [{"const": "auto"}],
    }


def _or(node: JsonSchema, further: list[JsonSchema]) -> JsonSchema:
    """The schema `node`, or one of the further ones."""
    about: JsonSchema = {
        key: node[key] for key in ("description", "unit", "default") if key in node
    }
    own = node.get("anyOf") or [{k: v for k, v in node.items() if k not in about and k != "title"}]
    return {"anyOf": [*own, *further], **about}


def _without_titles(node: Any) -> Any:
    """A schema without the titles that only repeat the keys; its own is kept."""
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        k: _without_titles(v)
        for k, v in node.items()
        if not (k == "title" and isinstance(v, str) and v != "Assay campaign")
    }
