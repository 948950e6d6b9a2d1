# SPDX-License-Identifier: Apache-2.0
"""`assay schema`: print the JSON Schema of what people write, and of what `--json` prints.

`make schema` writes those of forms to docs/schemas.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from assay import ROOT
from assay.cli.arguments import CHECK_FOLDERS, argument, declared, flag
from records.errors import AssayError, ExitStatus
from records.files import write_whole
from records.forms import DIALECT, json_schema, key_table, struct_schema
from records.plugins import loaded, plugins
from records.run.plan import SCHEMA

FOLDER = ROOT / "docs" / "schemas"
#: Form → its type, imported when it is asked for. A command's words are joined by "-".
FORMS = {
    "accept": "reports.verdicts.acceptance.judge:AcceptanceForm",
    "compare": "reports.verdicts.comparison:ComparisonForm",
    "doctor": "assay.cli.doctor:DoctorForm",
    "nightly-accept-change": "reports.verdicts.nightly.forms:ChangeAcceptedForm",
    "nightly-add": "reports.verdicts.nightly.forms:NightAddedForm",
    "nightly-show": "reports.verdicts.nightly.forms:HistoryForm",
    "night": "reports.verdicts.nightly.forms:NightForm",
    "plan": "records.run.plan:Plan",
    "report": "reports.verdicts.choice.forms:ReportForm",
    "run": "assay.cli.report:RunForm",
    "status": "assay.run.status:StatusForm",
    "verdicts": "reports.verdicts.choice.forms:VerdictsForm",
    "verify": "reports.verdicts.acceptance.judge:VerifyForm",
}
#: What people write → the function that gives its schema.
WRITTEN = {
    "campaign": "assay.schema.loading:campaign_schema",
    "criteria": "assay.schema.criteria:criteria_schema",
    "site": "assay.sites.description:site_schema",
}


def all_forms() -> dict[str, str]:
    """Forms of the core and of plugins, by name in order."""
    added = {name: form for plugin in plugins().values() for name, form in plugin.forms.items()}
    return dict(sorted({**FORMS, **added}.items()))


def schema_command(arguments: argparse.Namespace) -> int:
    """`assay schema`: print a schema, or the tables of its keys."""
    of, forms = arguments.of, all_forms()
    written = dict(WRITTEN)
    for plugin in plugins().values():
        written |= plugin.schemas
    known = [*written, "forms", *forms]
    if of not in known:
        raise AssayError(f"OF: found {of!r}; allowed are {', '.join(known)}")
    if arguments.markdown:
        if of != "site" and of not in forms:
            listed = ", ".join(forms)
            raise AssayError(f"--markdown: allowed with `schema site` and {listed}; not with {of}")
        print(key_table(loaded(written[of])() if of == "site" else form_schema(of)))
    elif of == "forms" and arguments.out is not None:
        for name in forms:
            file = arguments.out / f"{name}.schema.json"
            write_whole(file, (_text(form_schema(name)) + "\n").encode())
    elif of == "forms":
        print(*forms, sep="\n")
    else:
        print(_text(loaded(written[of])() if of in written else form_schema(of)))
    return ExitStatus.PASS


def form_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a form; its title is the form's name."""
    form = loaded(all_forms()[name])
    if name != "plan":
        return json_schema(form, name)
    found = struct_schema(form)
    found["$defs"]["Plan"]["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": DIALECT, **found, "title": name}


def _text(node: Any) -> str:
    return json.dumps(node, indent=2, ensure_ascii=False)


declare = declared(
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
