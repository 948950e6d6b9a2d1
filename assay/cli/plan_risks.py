# SPDX-License-Identifier: Apache-2.0
"""`assay plan --criteria`: the plan, and what judging it by these criteria risks."""

from __future__ import annotations

import json

from assay.criteria.loading import load_criteria
from assay.criteria.risks import rendered, risks
from assay.forms import PlanRisksForm, RiskPart
from assay.plan import render_plan
from assay.sites.site import Site
from assay.terminal import say
from records.forms import as_text
from records.run.plan import Plan
from reports.verdicts.acceptance.values import stated_rates


def print_risks(plan: Plan, criteria_file: str, site: Site, *, as_json: bool) -> None:
    """Print both. Raises AssayError for faulty criteria."""
    criteria, _ = load_criteria(criteria_file)
    found = risks(plan, criteria, stated_rates(site.provenance()))
    if as_json:
        form = PlanRisksForm(
            plan=json.loads(plan.to_json()), risks=[RiskPart.filled(risk) for risk in found]
        )
        print(as_text(form), end="")
    else:
        say(render_plan(plan))
        say(rendered(plan, criteria, found))
