# SPDX-License-Identifier: Apache-2.0
"""From the CAMPAIGN of a command line to a validated campaign, or one message with every fault; the
JSON Schema of campaign files, for editors (`make schema` writes the shipped file again)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from assay import ROOT, known_files
from assay.schema.document import clipped, read_text
from assay.schema.model import Campaign, Origin
from assay.schema.problems import checked, did_you_mean, listed
from assay.schema.rules import campaign_problems, refuse_too_many_cases
from checks.common.registry import CHECKS, Checks, checks_with
from checks.common.sizing import LINK, SizingKeys
from records.errors import AssayError
from records.input_files import read_whole
from records.plugins import folders
from records.run.plan import Plan

#: The campaign that a night writes into its run, an acceptance into a folder below.
RERUN = "rerun.yaml"
#: Folders of campaigns/ with files of another kind.
_NOT_CAMPAIGNS = ("criteria", "contracts")
_NEEDS = (
    "a campaign is a mapping with at least the keys schema, name, question, environments and cases"
)


def campaign_names() -> list[str]:
    """Names of the campaigns of the working folder and of Assay."""
    return sorted(_known())


def _known() -> dict[str, Path]:
    """Campaigns of plugins, of `campaigns/` and of the folders below it, by name: those of Assay,
    then those of the working folder, which come first."""
    files = [
        *(
            path
            for folder in folders("campaigns").values()
            for path in sorted(folder.glob("*.yaml"))
        ),
        *known_files(ROOT / "campaigns", "campaigns", "**/*.yaml"),
    ]
    return {path.stem: path for path in files if path.parent.name not in _NOT_CAMPAIGNS}


def load_campaign(name_or_path: str) -> Campaign:
    """The campaign of a name in `campaigns/`, or else of a file.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = file_of(name_or_path, "campaign", _known(), "campaigns")
    above = path.absolute().parents[:2] if path.name == RERUN else ()
    checks = CHECKS
    for plan in (folder / "plan.json" for folder in above):
        if plan.is_file():  # of the run, which brought checks
            checks = checks_with(Plan.from_json(read_whole(plan), str(plan)).brought)
    return campaign_from_text(str(path), read_text(path), checks)


def campaign_from_text(file: str, text: str, known: Checks = CHECKS) -> Campaign:
    """The campaign of a text, which may name the checks that are `known`; `file` is its name for
    messages. Raises as `load_campaign`."""
    checks = dict(known)
    problems_of = partial(campaign_problems, folder=Path(file).parent, checks=checks)
    value = checked(file, text, _NEEDS, problems_of)
    campaign = Campaign.model_validate(value)
    lines = tuple(value.line_of(("cases", i)) for i in range(len(campaign.cases)))
    campaign._origin, campaign._checks = Origin(file, text, lines), checks
    refuse_too_many_cases(campaign)
    return campaign


def file_of(name_or_path: str, kind: str, known: Mapping[str, Path], folder: str) -> Path:
    """The file that a command line means: one of those `known` of `folder`, or that of a path."""
    if name_or_path in known:
        return known[name_or_path]
    path = Path(name_or_path)
    try:
        if path.is_file():
            return path
        exists, is_folder = path.exists() and bool(name_or_path), path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        exists = False
    if exists:
        what = "a directory" if is_folder else "not a regular file"
        raise AssayError(f"{name_or_path}: is {what}; give a {kind} file")
    raise AssayError(
        f"no {kind} {clipped(name_or_path)!r}{did_you_mean(name_or_path, known)}: it is neither a"
        f" name in {folder}/ ({listed(sorted(known))}) nor a file"
    )


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
