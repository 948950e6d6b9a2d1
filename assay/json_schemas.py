# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of each machine form, by its name; `make schema` writes them to docs/schemas."""

from __future__ import annotations

from typing import Any

import msgspec

from assay import ROOT, forms
from records.forms import DIALECT, Form, json_schema
from records.run.plan import SCHEMA, Plan
from reports.answer.forms import ReportForm
from reports.choice.forms import VerdictsForm
from reports.verdicts.acceptance.forms import AcceptanceForm, VerifyForm
from reports.verdicts.comparison.result import ComparisonForm
from reports.verdicts.nightly import forms as nightly
from reports.verdicts.prediction.result import PredictionForm

FOLDER = ROOT / "docs" / "schemas"
#: Form → its type; None: plan.json. A command's words are joined by "-".
FORMS: dict[str, type[Form] | None] = {
    "accept": AcceptanceForm,
    "check": forms.CheckForm,
    "checks": forms.ChecksForm,
    "cluster-status": forms.ClusterForm,
    "compare": ComparisonForm,
    "doctor": forms.DoctorForm,
    "history-accept-change": nightly.ChangeAcceptedForm,
    "history-add": nightly.NightAddedForm,
    "history-show": nightly.HistoryForm,
    "history-silent": nightly.SilentForm,
    "night": nightly.NightForm,
    "paper": forms.PaperForm,
    "plan": None,
    "plan-risks": forms.PlanRisksForm,
    "predict": PredictionForm,
    "raw": forms.RawForm,
    "report": ReportForm,
    "run": forms.RunForm,
    "site-check": forms.SiteCheckForm,
    "site-init": forms.SiteInitForm,
    "status": forms.StatusForm,
    "verdicts": VerdictsForm,
    "verify": VerifyForm,
}


def form_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a form; its title is the form's name."""
    form = FORMS[name]
    if form is not None:
        return json_schema(form, name)
    found = msgspec.json.schema(Plan)
    found["$defs"]["Plan"]["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": DIALECT, **found, "title": name}
