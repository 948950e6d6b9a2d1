# SPDX-License-Identifier: Apache-2.0
"""`assay checks`: what can be measured, and what one check can be asked."""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from typing import Any

import yaml

from assay.schema.problems import allowed_text, did_you_mean, listed
from assay.terminal import say
from checks.common.definition import CheckDefinition
from checks.common.registry import CHECKS
from checks.common.sizing import SizingKeys
from records.errors import AssayError, ExitStatus

#: Values of a default that a line shows.
LISTED = 6
INDENT = " " * 6


def checks_command(arguments: argparse.Namespace) -> int:
    """`assay checks`: print the list of checks, or the explanation of one."""
    name = arguments.name
    if name is None:
        told: Any = {"checks": [overview(check) for check in CHECKS.values()]}
    elif name in CHECKS:
        told = explanation(CHECKS[name])
    else:
        hint = did_you_mean(name, CHECKS)
        raise AssayError(f"no check {name!r}{hint}; there are {listed(CHECKS)}")
    if arguments.json:
        print(json.dumps({"schema": 1, **told}, indent=1, ensure_ascii=False))
    elif name is None:
        say(table(told["checks"]))
    else:
        say(f"{told['name']}: {told['title']}\n\n{_paragraphs(told['purpose'])}\n", hang=0)
        say(page(told))
    return ExitStatus.PASS


def overview(check: CheckDefinition[Any]) -> dict[str, Any]:
    """Name, title, program and needs of a check.

    The program is our own, or one that a site names under `programs` of an environment.
    """
    foreign = sorted(f for f in check.features if f.startswith("program:"))
    return {
        "name": check.name,
        "title": check.title,
        "program": f"the site's {foreign[0].removeprefix('program:')}" if foreign else "our own",
        "needs": sorted(check.features),
        "folder": str(check.folder),
    }


def explanation(check: CheckDefinition[Any]) -> dict[str, Any]:
    """All that can be said of a check: purpose, parameters, metrics, points, layout, an example."""
    schema = check.parameters.model_json_schema(by_alias=True)
    required = schema.get("required", [])
    layout = {
        "ranks": check.ranks,
        "ranks on each node": check.ranks_asked_per_node,
        "memory of a node": check.memory_bytes_per_node,
        "estimated time": check.estimate_s,
    }
    example = {"check": check.name, "fixed": dict(check.example)}
    return {
        **overview(check),
        "purpose": inspect.cleandoc(sys.modules[check.package].__doc__ or ""),
        "compared_by": check.deciding,
        "parameters": [
            {
                "name": name,
                "meaning": node["description"],
                "unit": node["unit"],
                "required": name in required,
                "default": node.get("default"),
                "allowed": _allowed(node, schema),
            }
            for name, node in schema["properties"].items()
        ],
        "follows_the_site": {
            name: SizingKeys.model_fields[name].description for name in sorted(check.sizing)
        },
        "metrics": [
            {key: getattr(metric, key) for key in ("name", "unit", "better", "definition")}
            for metric in check.metrics
        ],
        "points": list(check.points),
        "layout": {what: inspect.getdoc(rule) for what, rule in layout.items()},
        "example": yaml.safe_dump({"cases": [example]}, sort_keys=False, default_flow_style=None),
    }


def _allowed(node: dict[str, Any], schema: dict[str, Any]) -> str:
    text = allowed_text(node, schema)
    return f"{text}, each {allowed_text(node['items'], schema)}" if "items" in node else text


def table(checks: list[dict[str, Any]]) -> str:
    """The overviews, a line each, with what is needed beside MPI."""
    width = max(len(one["name"]) for one in checks)
    lines = [f"{'check':{width}}  title (needs beside MPI)"]
    for one in checks:
        needs = [need for need in one["needs"] if need != "mpi"]
        told = f" ({', '.join(needs)})" if needs else ""
        lines.append(f"{one['name']:{width}}  {one['title']}{told}")
    return "\n".join([*lines, "", "Explain one with: assay checks CHECK"])


def page(told: dict[str, Any]) -> str:
    """What a check can be asked and gives, for a terminal."""
    lines = [f"program  {told['program']}, in {told['folder']}"]
    lines += [f"needs    {', '.join(told['needs'])}", "", "parameters"]
    for one in sorted(told["parameters"], key=lambda one: not one["required"]):
        default = "required" if one["required"] else f"default {_brief(one['default'])}"
        unit = "" if one["unit"] == "none" else f", in {one['unit']}"
        lines += [f"  {one['name']}: {default}{unit}; allowed is {one['allowed']}"]
        lines += [_indented(one["meaning"])]
    if told["follows_the_site"]:
        lines += ["", "in a campaign file also, for sizes that follow the site"]
    for name, meaning in told["follows_the_site"].items():
        lines += [f"  {name}", _indented(meaning)]
    lines += ["", f"metrics; environments are compared by {told['compared_by'] or 'each'}"]
    for one in told["metrics"]:
        lines += [f"  {one['name']}, {one['unit']}, {one['better']} is better"]
        lines += [_indented(one["definition"])]
    lines += ["", f"a value's point inside a launch: {', '.join(told['points']) or 'none'}", ""]
    lines += ["layout and cost"]
    for what, rule in told["layout"].items():
        lines += [f"  {what}", _indented(rule)]
    lines += ["", "example, in a campaign file", *told["example"].rstrip().splitlines()]
    return "\n".join(lines)


def _paragraphs(text: str) -> str:
    """A text whose lines were broken for another width; lists and tables stay as they are."""
    return re.sub(r"(?<=\S)\n(?=[^\s\-*|])", " ", text)


def _brief(value: Any) -> str:
    """A default as JSON, of a long list its ends."""
    if isinstance(value, list) and len(value) > LISTED:
        first, last = json.dumps(value[0]), json.dumps(value[-1])
        return f"{len(value)} values from {first} to {last}"
    return json.dumps(value, ensure_ascii=False)


def _indented(text: str) -> str:
    return INDENT + " ".join(text.split())
