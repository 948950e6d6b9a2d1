# SPDX-License-Identifier: Apache-2.0
"""Every machine form by its name; `make schema` writes the schemas in docs/schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from assay import ROOT
from assay.machine import acceptances, nights, plans, predictions, runs, sites, verdicts

FOLDER = ROOT / "docs" / "schemas"
#: Form → what makes its JSON Schema. A command's words are joined by "-".
FORMS: dict[str, Callable[[], dict[str, Any]]] = {
    "accept": acceptances.Acceptance.json_schema,
    "check": sites.CheckTold.json_schema,
    "checks": sites.Checks.json_schema,
    "cluster-status": sites.Cluster.json_schema,
    "compare": runs.Compared.json_schema,
    "doctor": sites.Doctor.json_schema,
    "history-accept-change": nights.Accepted.json_schema,
    "history-add": nights.NightAdded.json_schema,
    "history-show": nights.HistoryShown.json_schema,
    "history-silent": nights.HistorySilent.json_schema,
    "night": nights.NightTold.json_schema,
    "paper": runs.Studied.json_schema,
    "plan": plans.plan_schema,
    "plan-risks": plans.PlanRisks.json_schema,
    "predict": predictions.PredictionTold.json_schema,
    "raw": runs.Raw.json_schema,
    "report": runs.Report.json_schema,
    "run": runs.Ran.json_schema,
    "site-check": sites.SiteChecked.json_schema,
    "site-init": sites.SiteWritten.json_schema,
    "status": runs.Status.json_schema,
    "verdicts": verdicts.Verdicts.json_schema,
    "verify": acceptances.Verified.json_schema,
}


def form_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a form; its title is the form's name."""
    found = FORMS[name]()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": name}


def key_table(name: str) -> str:
    """Every key of a form with its meaning, as a Markdown table."""
    schema = form_schema(name)
    rows = (f"| `{path}` | {text} |" for path, text in _keys(schema, schema, ""))
    return "\n".join(["| key | meaning |", "|---|---|", *rows])


def _keys(node: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """The keys below a node of a schema; of a choice of types those of each."""
    node = _referred(node, schema)
    for choice in node.get("anyOf", ()):
        yield from _keys(choice, schema, path)
    if isinstance(items := node.get("items"), dict):
        yield from _keys(items, schema, f"{path}[]")
    for key, value in node.get("properties", {}).items():
        inner = f"{path}.{key}".removeprefix(".")
        text = value.get("description") or _referred(value, schema).get("description", "")
        yield inner, text.rstrip(".").replace("|", "\\|")
        yield from _keys(value, schema, inner)


def _referred(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """What a node refers to, else itself. A text that both have stands there alone."""
    name = node.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = schema["$defs"][name] if name else node
    return found
