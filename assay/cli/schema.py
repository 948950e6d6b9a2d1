# SPDX-License-Identifier: Apache-2.0
"""`assay schema`: print the JSON Schema of what people write, and of what `--json` prints.

`make schema` writes those of forms to docs/schemas.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from assay import ROOT
from assay.cli import arguments as shared
from assay.cli.arguments import CHECK_FOLDERS, argument, flag
from assay.cli.checks import ChecksForm
from assay.cli.doctor import DoctorForm
from assay.cli.report import RunForm
from assay.run.status import StatusForm
from assay.schema import campaign_schema
from assay.schema.criteria import criteria_schema
from assay.sites.description import site_schema
from records.errors import AssayError, ExitStatus
from records.files import write_whole
from records.forms import DIALECT, Part, json_schema, key_table, struct_schema
from records.plugins import loaded, plugins
from records.run.plan import SCHEMA, Plan
from reports.verdicts.acceptance.judge import AcceptanceForm, VerifyForm
from reports.verdicts.choice.forms import ReportForm, VerdictsForm
from reports.verdicts.comparison import ComparisonForm
from reports.verdicts.nightly import forms as nightly

FOLDER = ROOT / "docs" / "schemas"
#: Form → its type; None: plan.json. A command's words are joined by "-".
FORMS: dict[str, type[Part] | None] = {
    "accept": AcceptanceForm,
    "checks": ChecksForm,
    "compare": ComparisonForm,
    "doctor": DoctorForm,
    "nightly-accept-change": nightly.ChangeAcceptedForm,
    "nightly-add": nightly.NightAddedForm,
    "nightly-show": nightly.HistoryForm,
    "night": nightly.NightForm,
    "plan": None,
    "report": ReportForm,
    "run": RunForm,
    "status": StatusForm,
    "verdicts": VerdictsForm,
    "verify": VerifyForm,
}
_WRITTEN = {
    "campaign": campaign_schema,
    "criteria": criteria_schema,
    "site": site_schema,
}


def all_forms() -> dict[str, Any]:
    """Forms of the core and of plugins, by name in order."""
    added = {name: form for plugin in plugins().values() for name, form in plugin.forms.items()}
    return dict(sorted({**FORMS, **added}.items()))


def schema_command(arguments: argparse.Namespace) -> int:
    """`assay schema`: print a schema, or the tables of its keys."""
    of, forms = arguments.of, all_forms()
    written = dict(_WRITTEN)
    for plugin in plugins().values():
        written |= {name: loaded(schema) for name, schema in plugin.schemas.items()}
    known = [*written, "forms", *forms]
    if of not in known:
        raise AssayError(f"OF: found {of!r}; allowed are {', '.join(known)}")
    if arguments.markdown:
        if of != "site" and of not in forms:
            listed = ", ".join(forms)
            raise AssayError(f"--markdown: allowed with `schema site` and {listed}; not with {of}")
        print(key_table(site_schema() if of == "site" else form_schema(of)))
    elif of == "forms" and arguments.out is not None:
        for name in forms:
            file = arguments.out / f"{name}.schema.json"
            write_whole(file, (_text(form_schema(name)) + "\n").encode())
    elif of == "forms":
        print(*forms, sep="\n")
    else:
        print(_text(written[of]() if of in written else form_schema(of)))
    return ExitStatus.PASS


def form_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a form; its title is the form's name."""
    form = all_forms()[name]
    form = loaded(form) if isinstance(form, str) else form
    if form is not None:
        return json_schema(form, name)
    found = struct_schema(Plan)
    found["$defs"]["Plan"]["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": DIALECT, **found, "title": name}


def _text(node: Any) -> str:
    return json.dumps(node, indent=2, ensure_ascii=False)


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay schema`."""
    shared.declare(
        parser,
        schema_command,
        argument(
            "of OF",
            "campaign (the default), criteria, site, or a form; `forms` lists those",
            nargs="?",
            default="campaign",
        ),
        flag("--markdown", "the keys of a site.yaml, or of a form, as a table"),
        argument("--out DIR", "with `forms`: write all of them there", type=Path),
        CHECK_FOLDERS,
    )
