# SPDX-License-Identifier: Apache-2.0
"""`assay schema`: print the JSON Schema of what people write, and of what `--json` prints.

`make schema` writes those of forms to docs/schemas.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from assay import ROOT
from assay.cli.campaign import CampaignsForm
from assay.cli.checks import CheckForm, ChecksForm
from assay.cli.report import RunForm
from assay.cli.status import RawForm
from assay.contracts.loading import contract_schema
from assay.criteria.loading import criteria_schema
from assay.criteria.risks import PlanRisksForm
from assay.onboarding.check import SiteCheckForm
from assay.onboarding.init import SiteInitForm
from assay.plan.suite_on_site import SuiteForm
from assay.requirements import DoctorForm
from assay.run.status import StatusForm
from assay.schema import campaign_schema
from assay.sites.json_schema import key_tables, site_schema
from records.application_profile import ApplicationProfile
from records.errors import AssayError, ExitStatus
from records.forms import DIALECT, Part, json_schema, key_table, struct_schema
from records.run.plan import SCHEMA, Plan
from reports.analysis.forms import VerdictsForm
from reports.verdicts.acceptance.against import AgainstForm
from reports.verdicts.acceptance.forms import AcceptanceForm, VerifyForm
from reports.verdicts.advice.outcome import AdviceForm
from reports.verdicts.choice.form import ReportForm
from reports.verdicts.comparison.result import ComparisonForm
from reports.verdicts.contract.forms import ContractForm
from reports.verdicts.nightly import forms as nightly
from reports.verdicts.papers.result import PaperForm
from reports.verdicts.prediction.outcome import PredictionForm
from reports.verdicts.stability.result import StabilityForm
from reports.verdicts.survey import forms as survey
from virtual_cluster.command import ClusterForm

FOLDER = ROOT / "docs" / "schemas"
#: Form → its type; None: plan.json. A command's words are joined by "-".
FORMS: dict[str, type[Part] | None] = {
    "accept": AcceptanceForm,
    "accept-against": AgainstForm,
    "acceptance": ContractForm,
    "advise": AdviceForm,
    "acceptance-watch": StabilityForm,
    "campaigns": CampaignsForm,
    "check": CheckForm,
    "checks": ChecksForm,
    "checks-reframe": SuiteForm,
    "cluster-status": ClusterForm,
    "compare": ComparisonForm,
    "doctor": DoctorForm,
    "history-accept-change": nightly.ChangeAcceptedForm,
    "history-add": nightly.NightAddedForm,
    "history-import": survey.ImportForm,
    "history-report": survey.SurveyForm,
    "history-show": nightly.HistoryForm,
    "history-silent": nightly.SilentForm,
    "night": nightly.NightForm,
    "paper": PaperForm,
    "plan": None,
    "plan-risks": PlanRisksForm,
    "predict": PredictionForm,
    "profile": ApplicationProfile,
    "raw": RawForm,
    "report": ReportForm,
    "run": RunForm,
    "site-check": SiteCheckForm,
    "site-init": SiteInitForm,
    "status": StatusForm,
    "verdicts": VerdictsForm,
    "verify": VerifyForm,
}
_WRITTEN = {
    "campaign": campaign_schema,
    "contract": contract_schema,
    "criteria": criteria_schema,
    "site": site_schema,
}


def schema_command(arguments: argparse.Namespace) -> int:
    """`assay schema`: print a schema, or the tables of its keys."""
    of = arguments.of
    known = [*_WRITTEN, "forms", *FORMS]
    if of not in known:
        raise AssayError(f"OF: found {of!r}; allowed are {', '.join(known)}")
    if arguments.markdown:
        if of != "site" and of not in FORMS:
            listed = ", ".join(FORMS)
            raise AssayError(f"--markdown: allowed with `schema site` and {listed}; not with {of}")
        print(key_tables() if of == "site" else key_table(form_schema(of)))
    elif of == "forms":
        print(*FORMS, sep="\n")
    elif of == "campaign":
        print(_line_a_definition(campaign_schema()))
    else:
        print(_text(_WRITTEN[of]() if of in _WRITTEN else form_schema(of), indent=2))
    return ExitStatus.PASS


def form_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a form; its title is the form's name."""
    form = FORMS[name]
    if form is not None:
        return json_schema(form, name)
    found = struct_schema(Plan)
    found["$defs"]["Plan"]["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": DIALECT, **found, "title": name}


def _text(node: Any, indent: int | None = None) -> str:
    separators = (",", ":") if indent is None else None
    return json.dumps(node, indent=indent, ensure_ascii=False, separators=separators)


def _line_a_definition(schema: dict[str, Any]) -> str:
    """A large schema as text: four times as small as with a line a key."""
    definitions = (f"{_text(name)}: {_text(one)}" for name, one in schema["$defs"].items())
    parts = {name: _text(part) for name, part in schema.items()}
    parts["$defs"] = "{\n  " + ",\n  ".join(definitions) + "\n }"
    return "{\n " + ",\n ".join(f"{_text(name)}: {text}" for name, text in parts.items()) + "\n}"
