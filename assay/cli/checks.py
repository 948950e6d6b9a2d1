# SPDX-License-Identifier: Apache-2.0
"""`assay checks`: what can be measured, what one check can be asked, and what the expressions of a
campaign's command catch in an output that was captured."""

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import yaml

from assay.cli.arguments import CHECK_FOLDERS, argument, declared
from assay.schema.document import allowed_text, clipped, did_you_mean, listed
from assay.screens.screen import Screen
from assay.terminal import say
from checks.common.definition import CheckDefinition
from checks.common.registry import CHECKS
from checks.common.sizing import SizingKeys
from records.errors import AssayError, ExitStatus
from reports.show.tables import Column

INDENT = " " * 6


def checks_command(arguments: argparse.Namespace) -> int:
    """`assay checks`: print the list of checks, or the explanation of one."""
    name = arguments.name
    if name == "try":
        from assay.screens.try_output import try_command  # slow: campaigns

        return try_command(arguments.files)
    if arguments.files:
        raise AssayError(f"checks: {arguments.files[0]!r} follows CHECK; allowed is one CHECK")
    if name is None:
        return _list()
    if name not in CHECKS:
        hint = did_you_mean(name, CHECKS)
        raise AssayError(f"no check {name!r}{hint}; there are {listed(CHECKS)}")
    check = CHECKS[name]
    # Lines that were broken for another width; lists and tables stay as they are.
    purpose = re.sub(r"(?<=\S)\n(?=[^\s\-*|])", " ", _purpose(check))
    say(f"{name}: {check.title}\n\n{purpose}\n", hang=0)
    say("\n".join(_page(check)))
    return ExitStatus.PASS


def _list() -> int:
    """Print a line a check: what it measures, in a phrase, and what an environment must have."""
    screen, rows = Screen(), []
    for check in CHECKS.values():
        phrase, _, _ = _purpose(check).partition("\n\n")
        needs = [need.upper() for need in sorted(check.features) if ":" not in need]
        needs += [_program(check)] if len(needs) < len(check.features) else []
        measures = " ".join(phrase.split()).removesuffix(".") or check.title
        rows.append((check.name, measures, ", ".join(needs)))
    screen.table([Column("check"), Column("measures"), Column("needs")], rows)
    screen.line("explain one with: assay checks CHECK")
    return ExitStatus.PASS


def _program(check: CheckDefinition[Any]) -> str:
    """Whose program a check runs: our own, or one that a site names under `programs`."""
    foreign = sorted(f for f in check.features if f.startswith("program:"))
    return f"the site's {foreign[0].removeprefix('program:')}" if foreign else "our own"


def _purpose(check: CheckDefinition[Any]) -> str:
    return inspect.cleandoc(sys.modules[check.package].__doc__ or "")


def _page(check: CheckDefinition[Any]) -> Iterator[str]:
    """Lines on parameters, metrics and an example of a check."""
    schema = check.parameters.model_json_schema(by_alias=True)
    yield f"program  {_program(check)}, in {check.folder}"
    yield f"needs    {', '.join(sorted(check.features))}\n\nparameters"
    required = schema.get("required", [])
    for name in sorted(schema["properties"], key=lambda name: name not in required):
        node = schema["properties"][name]
        brief = clipped(json.dumps(node.get("default"), ensure_ascii=False))
        default = "required" if name in required else f"default {brief}"
        unit = "" if node["unit"] == "none" else f", in {node['unit']}"
        each = f", each {allowed_text(node['items'], schema)}" if "items" in node else ""
        yield f"  {name}: {default}{unit}; allowed is {allowed_text(node, schema)}{each}"
        yield _indented(node["description"])
    if check.sizing:
        yield "\nin a campaign file also, for sizes that follow the site"
    for name in sorted(check.sizing):
        yield f"  {name}\n{_indented(SizingKeys.model_fields[name].description)}"
    yield f"\nmetrics; environments are compared by {check.deciding or 'each'}"
    for metric in check.metrics:
        yield f"  {metric.name}, {metric.unit}, {metric.better} is better"
        yield _indented(metric.definition)
    yield f"\na value's point inside a launch: {', '.join(check.points) or 'none'}"
    example = {"cases": [{"check": check.name, "fixed": dict(check.example)}]}
    text = yaml.safe_dump(example, sort_keys=False, default_flow_style=None)
    yield f"\nexample, in a campaign file\n{text.rstrip()}"


def _indented(text: str | None) -> str:
    return INDENT + " ".join((text or "").split())


declare = declared(
    checks_command,
    argument("name CHECK", "explain this one", nargs="?"),
    argument(
        "files FILE",
        "after the word try, CAMPAIGN[:NAME] and a captured output: what the expressions of"
        " a campaign's command catch in it",
        nargs="*",
    ),
    CHECK_FOLDERS,
)
