# SPDX-License-Identifier: Apache-2.0
"""`assay checks`: what can be measured, and what one check can be asked."""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from typing import Annotated, Any, Literal

import yaml

from assay.cli import arguments as shared
from assay.cli.arguments import CHECK_FOLDERS, JSON, argument
from assay.schema.problems import allowed_text, did_you_mean, listed
from assay.screens.screen import Screen
from assay.terminal import say
from checks.common.definition import CheckDefinition
from checks.common.registry import CHECKS
from checks.common.sizing import SizingKeys
from records.errors import AssayError, ExitStatus
from records.forms import Form, Part, as_text, key
from reports.show.tables import Column

#: Values of a default that a line shows.
LISTED = 6
INDENT = " " * 6


class CheckPart(Part):
    """A check."""

    name: Annotated[str, key("Its name.")]
    title: Annotated[str, key("Its title.")]
    measures: Annotated[str, key("Quantity that it measures, in a phrase.")]
    program: Annotated[str, key("Whose program it runs.")]
    needs: Annotated[list[str], key("Features that an environment must have.")]
    folder: Annotated[str, key("Its path.")]


class ChecksForm(Form, kw_only=True):
    """`assay checks`: what can be measured."""

    checks: Annotated[list[CheckPart], key("Every check.")]


class ParameterPart(Part):
    """A parameter of a check."""

    name: Annotated[str, key("Its name.")]
    meaning: Annotated[str, key("Meaning of the parameter.")]
    unit: Annotated[str, key("Its unit.")]
    required: Annotated[bool, key("True if it must be given.")]
    default: Annotated[Any, key("Value that holds where it is not given.")]
    allowed: Annotated[str, key("Values that it may have.")]


class MetricPart(Part):
    """A metric of a check."""

    name: Annotated[str, key("Its name.")]
    unit: Annotated[str, key("Its SI unit.")]
    better: Annotated[Literal["higher", "lower"], key("Direction that is better.")]
    definition: Annotated[str, key("Definition of the metric.")]


class CheckForm(CheckPart, kw_only=True):
    """`assay checks NAME`: all of one check."""

    schema: Annotated[int, key("The version of this form.")] = 1
    purpose: Annotated[str, key("Purpose of the check.")]
    compared_by: Annotated[Any, key("The metric by which environments are compared.")]
    parameters: Annotated[list[ParameterPart], key("Its parameters.")]
    follows_the_site: Annotated[
        dict[str, str | None], key("Keys of a campaign file for sizes that follow the site.")
    ]
    metrics: Annotated[list[MetricPart], key("Its metrics.")]
    points: Annotated[list[str], key("Keys that tell the values of one launch from each other.")]
    layout: Annotated[
        dict[str, str | None],
        key("Rules by which ranks, memory and time follow from the parameters."),
    ]
    example: Annotated[str, key("An entry of a campaign file.")]


def checks_command(arguments: argparse.Namespace) -> int:
    """`assay checks`: print the list of checks, or the explanation of one."""
    name = arguments.name
    if name == "try":
        from assay.screens.try_output import try_command  # slow: campaigns

        return try_command(arguments.files)
    if arguments.files:
        raise AssayError(f"checks: {arguments.files[0]!r} follows CHECK; allowed is one CHECK")
    if name is not None and name not in CHECKS:
        hint = did_you_mean(name, CHECKS)
        raise AssayError(f"no check {name!r}{hint}; there are {listed(CHECKS)}")
    if name is None:
        parts = [CheckPart(**_overview(check)) for check in CHECKS.values()]
        if arguments.json:
            print(as_text(ChecksForm(checks=parts)), end="")
            return ExitStatus.PASS
        screen, rows = Screen(), []
        for one in parts:
            needs = [need.upper() for need in one.needs if ":" not in need]
            needs += [one.program] if len(needs) < len(one.needs) else []
            rows.append((one.name, one.measures, ", ".join(needs)))
        screen.table([Column("check"), Column("measures"), Column("needs")], rows)
        screen.line("explain one with: assay checks CHECK")
        return ExitStatus.PASS
    explained = explanation(CHECKS[name])
    if arguments.json:
        print(as_text(explained), end="")
        return ExitStatus.PASS
    say(f"{name}: {explained.title}\n\n{_paragraphs(explained.purpose)}\n", hang=0)
    say(_page(explained))
    return ExitStatus.PASS


def _overview(check: CheckDefinition[Any]) -> dict[str, Any]:
    """The keys of CheckPart. The program is our own, or one that a site names under `programs`."""
    phrase, _, _ = _purpose(check).partition("\n\n")
    foreign = sorted(f for f in check.features if f.startswith("program:"))
    return {
        "name": check.name,
        "title": check.title,
        "measures": " ".join(phrase.split()).removesuffix(".") or check.title,
        "program": f"the site's {foreign[0].removeprefix('program:')}" if foreign else "our own",
        "needs": sorted(check.features),
        "folder": str(check.folder),
    }


def _purpose(check: CheckDefinition[Any]) -> str:
    return inspect.cleandoc(sys.modules[check.package].__doc__ or "")


def explanation(check: CheckDefinition[Any]) -> CheckForm:
    """All that can be said of a check."""
    schema = check.parameters.model_json_schema(by_alias=True)
    by_rank = type(check).memory_bytes_per_node is CheckDefinition.memory_bytes_per_node
    layout = {
        "ranks": check.ranks,
        "ranks on each node": check.ranks_asked_per_node,
        "memory of a node": check.bytes_per_rank if by_rank else check.memory_bytes_per_node,
        "estimated time": check.estimate_s,
    }
    parameters = [
        ParameterPart(
            name=name,
            meaning=node["description"],
            unit=node["unit"],
            required=name in schema.get("required", []),
            default=node.get("default"),
            allowed=allowed_text(node, schema)
            + (f", each {allowed_text(node['items'], schema)}" if "items" in node else ""),
        )
        for name, node in schema["properties"].items()
    ]
    example = {"cases": [{"check": check.name, "fixed": dict(check.example)}]}
    sizing = {name: SizingKeys.model_fields[name].description for name in sorted(check.sizing)}
    return CheckForm(
        **_overview(check),
        purpose=_purpose(check),
        compared_by=check.deciding,
        parameters=parameters,
        follows_the_site=sizing,
        metrics=[MetricPart.filled(metric) for metric in check.metrics],
        points=list(check.points),
        layout={what: inspect.getdoc(rule) for what, rule in layout.items()},
        example=yaml.safe_dump(example, sort_keys=False, default_flow_style=None),
    )


def _page(check: CheckForm) -> str:
    """Parameters and metrics of a check, for a terminal."""
    lines = [f"program  {check.program}, in {check.folder}"]
    lines += [f"needs    {', '.join(check.needs)}", "", "parameters"]
    for one in sorted(check.parameters, key=lambda one: not one.required):
        default = "required" if one.required else f"default {_brief(one.default)}"
        unit = "" if one.unit == "none" else f", in {one.unit}"
        lines += [f"  {one.name}: {default}{unit}; allowed is {one.allowed}"]
        lines += [_indented(one.meaning)]
    if check.follows_the_site:
        lines += ["", "in a campaign file also, for sizes that follow the site"]
    for name, meaning in check.follows_the_site.items():
        lines += [f"  {name}", _indented(meaning)]
    lines += ["", f"metrics; environments are compared by {check.compared_by or 'each'}"]
    for metric in check.metrics:
        lines += [f"  {metric.name}, {metric.unit}, {metric.better} is better"]
        lines += [_indented(metric.definition)]
    lines += ["", f"a value's point inside a launch: {', '.join(check.points) or 'none'}", ""]
    lines += ["layout and cost"]
    for what, rule in check.layout.items():
        lines += [f"  {what}", _indented(rule)]
    return "\n".join([*lines, "", "example, in a campaign file", check.example.rstrip()])


def _paragraphs(text: str) -> str:
    """A text whose lines were broken for another width; lists and tables stay as they are."""
    return re.sub(r"(?<=\S)\n(?=[^\s\-*|])", " ", text)


def _brief(value: Any) -> str:
    """A default as JSON, of a long list its ends."""
    if isinstance(value, list) and len(value) > LISTED:
        first, last = json.dumps(value[0]), json.dumps(value[-1])
        return f"{len(value)} values from {first} to {last}"
    return json.dumps(value, ensure_ascii=False)


def _indented(text: str | None) -> str:
    return INDENT + " ".join((text or "").split())


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay checks`."""
    shared.declare(
        parser,
        checks_command,
        argument("name CHECK", "explain this one", nargs="?"),
        argument(
            "files FILE",
            "after the word try, CAMPAIGN[:NAME] and a captured output: what the expressions of"
            " a campaign's command catch in it",
            nargs="*",
        ),
        CHECK_FOLDERS,
        JSON,
    )
