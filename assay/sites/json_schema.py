# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of site.yaml, for editors, and its keys as tables for docs/sites.md.

`make schema` writes both again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from assay import ROOT
from assay.schema.loading import JsonSchema, alternatives
from assay.schema.problems import allowed_text
from assay.sites.description import PartitionKeys, SiteFile
from checks.common.session.launch_commands import LAUNCHERS

SCHEMA_FILE = ROOT / "site-config" / "site.schema.json"

_NULL: list[JsonSchema] = [{"type": "null"}]
#: The parts of a file in the order of the page: definition, and how the heading names it.
_PARTS = {
    "SiteFile": "The site",
    "PartitionDescription": "`partitions.NAME`; italics: may be at the top, as default",
    "EnvironmentKeys": "`environments.NAME`",
    "SettingDescription": "`environments.NAME.settings.NAME`",
    "BlasDescription": "`blas`",
    "NetworkDescription": "`network`",
    "TopologyDescription": "`topology`",
    "SwitchDescription": "`topology.switches.NAME`",
    "ReframeDescription": "`reframe`",
    "SpackDescription": "`spack`",
}


def site_schema() -> JsonSchema:
    """A JSON Schema (draft 2020-12) with a description and a unit on every key."""
    schema = SiteFile.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    environment = definitions["EnvironmentKeys"]
    environment["properties"]["launcher"] |= {"enum": list(LAUNCHERS)}
    required = environment.pop("required")
    environment["anyOf"] = [{"required": ["like"]}, {"required": required}]
    definitions["SettingDescription"].pop("required")
    # null removes what `like` brings, at every depth.
    for name in ("EnvironmentKeys", "SettingDescription", "BlasDescription"):
        properties = definitions[name]["properties"]
        for key, node in properties.items():
            if "additionalProperties" in node:
                node["additionalProperties"] = alternatives(node["additionalProperties"], _NULL)
            properties[key] = alternatives(node, _NULL)
    definitions["TopologyDescription"]["properties"].pop("left_out")
    partitions = schema["properties"]["partitions"]
    partitions["additionalProperties"] = alternatives(partitions["additionalProperties"], _NULL)
    schema["title"] = "Assay site"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def key_tables() -> str:
    """Every key with its meaning, unit, allowed values and default, a Markdown table a part."""
    schema = SiteFile.model_json_schema(by_alias=True)
    parts = {"SiteFile": schema, **schema["$defs"]}
    lines = []
    for name, heading in _PARTS.items():
        lines += [f"### {heading}", ""]
        lines += ["| key | meaning | unit | allowed | default |", "|---|---|---|---|---|"]
        lines += [*_rows(name, parts[name], schema), ""]
    lines += ["### Launchers", "", "| launcher | what it is |", "|---|---|"]
    lines += [f"| `{name}` | {one.meaning} |" for name, one in LAUNCHERS.items()]
    return "\n".join(lines)


def _rows(part: str, node: JsonSchema, schema: JsonSchema) -> Iterator[str]:
    required = node.get("required", [])
    # A reader looks for what must be there first.
    for name, key in sorted(node["properties"].items(), key=lambda item: item[0] not in required):
        of_partition = name in PartitionKeys.model_fields
        if name == "left_out" or (part == "SiteFile" and of_partition):
            continue
        value = key.get("default")
        is_empty = value in (None, "", 0, []) or isinstance(value, dict)
        default = "" if is_empty and value is not False else f"`{json.dumps(value)}`"
        cells = (
            f"*`{name}`*" if part == "PartitionDescription" and of_partition else f"`{name}`",
            key["description"],
            key["unit"].removeprefix("none"),
            "one of the launchers below" if name == "launcher" else allowed_text(key, schema),
            "required" if name in required else default,
        )
        yield f"| {' | '.join(cells)} |".replace("\n", " ")
