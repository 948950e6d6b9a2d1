# SPDX-License-Identifier: Apache-2.0
"""The same-night re-run: a campaign of nothing but the suspicious cases, with fresh launches."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import yaml

from records.errors import AssayError
from records.run_directory import RunDirectory

BLOCKS = 5


def rerun_campaign(run: RunDirectory, case_ids: Collection[str], seed: int) -> Path:
    """Write the campaign of some cases of a run into its directory; gives the file.

    Its cases have the same ids: the same check, environment and complete parameters.
    """
    plan = run.plan()
    cases = [case for case in plan.cases if case.id in case_ids]
    missing = set(case_ids) - {case.id for case in cases}
    if missing:
        raise AssayError(f"{run.path}: its plan has no case {sorted(missing)[0]} to run again")
    environments = sorted({case.environment for case in cases})
    content = {
        "schema": 1,
        "name": plan.campaign,
        "question": f"Run again what looked slow in run {run.run_id}: is it slow now, too?",
        "environments": environments,
        "variants": {n: v for n, v in plan.variants.items() if n in environments},
        "blocks": BLOCKS,
        "seed": seed,
        "cases": [
            {"check": case.check, "environments": [case.environment], "fixed": case.params}
            for case in cases
        ],
        "limits": {name: value for name, value in plan.limits.items() if value is not None},
    }
    path = run.path / "rerun.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def nodes_of(run: RunDirectory, case_ids: Collection[str]) -> set[str]:
    """The nodes that launches of some cases of a run were on."""
    records = run.records()
    return {node for record in records if record.case_id in case_ids for node in record.nodes}
