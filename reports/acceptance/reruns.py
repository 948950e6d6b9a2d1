# SPDX-License-Identifier: Apache-2.0
"""The campaign file of a re-run: the undecided cases and nothing else, with the same ids."""

from __future__ import annotations

import json
from typing import Any

from reports.acceptance.dossier import Dossier

_NAME_LENGTH = 64


def rerun_campaign(dossier: Dossier) -> str:
    """The text of a campaign file (JSON, which is YAML) that runs the wanted cases once more.

    Every parameter is written out, so the cases keep their ids.
    """
    run, wanted = dossier.run, set(dossier.judgement.rerun)
    cases = [case for case in run.plan.cases if case.id in wanted]
    plan: dict[str, Any] = json.loads((run.directory / "plan.json").read_bytes())
    environments = list(dict.fromkeys(case.environment for case in cases))
    variants = {name: v for name, v in plan.get("variants", {}).items() if name in environments}
    kept = ("launch_s", "retries")
    limits = {name: v for name, v in plan.get("limits", {}).items() if v and name in kept}
    content = {
        "schema": 1,
        "name": f"{run.plan.campaign[: _NAME_LENGTH - 6]}-rerun",
        "question": f"Do the undecided verdicts of run {run.run_id} hold in fresh launches?",
        "environments": environments,
        "variants": variants,
        "limits": limits,
        "blocks": dossier.criteria.rerun_blocks,
        "seed": (run.plan.seed or 0) + 1 + len(dossier.reruns),
        "cases": [
            {"check": case.check, "fixed": case.params, "environments": [case.environment]}
            for case in cases
        ],
    }
    head = (
        "# SPDX-License-Identifier: Apache-2.0\n"
        f"# Written by assay accept: re-runs of {len(cases)} cases of run {run.run_id}.\n"
    )
    return head + json.dumps(content, indent=1, ensure_ascii=False) + "\n"
