# SPDX-License-Identifier: Apache-2.0
"""The campaign file of a re-run: the undecided cases and nothing else, with the same ids."""

from __future__ import annotations

import json

from records.rerun import rerun_campaign
from reports.acceptance.dossier import Dossier

_NAME_LENGTH = 64


def rerun_file(dossier: Dossier) -> str:
    """The text of a campaign file (JSON, which is YAML) that runs the wanted cases once more."""
    run, plan, wanted = dossier.run, dossier.run.plan, dossier.judgement.rerun
    content = rerun_campaign(
        plan,
        wanted,
        name=f"{plan.campaign[: _NAME_LENGTH - 6]}-rerun",
        question=f"Do the undecided verdicts of run {run.run_id} hold in fresh launches?",
        blocks=dossier.criteria.rerun_blocks,
        seed=plan.seed + 1 + len(dossier.reruns),
    )
    head = (
        "# SPDX-License-Identifier: Apache-2.0\n"
        f"# Written by assay accept: re-runs of {len(wanted)} cases of run {run.run_id}.\n"
    )
    return head + json.dumps(content, indent=1, ensure_ascii=False) + "\n"
