# SPDX-License-Identifier: Apache-2.0
"""The campaign of a re-run: some cases of a run and nothing else, in fresh launches."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from records.errors import AssayError
from records.plan import Plan

#: Limits of a single launch; those of the whole run do not hold for a part of it.
_LIMITS = ("launch_s", "retries")


def rerun_campaign(
    plan: Plan, case_ids: Collection[str], *, name: str, question: str, blocks: int, seed: int
) -> dict[str, Any]:
    """The content of a campaign file that runs these cases of the plan again.

    Every parameter is written out, so the cases keep their ids. Raises AssayError for a case that
    the plan lacks.
    """
    cases = [case for case in plan.cases if case.id in case_ids]
    missing = set(case_ids) - {case.id for case in cases}
    if missing:
        raise AssayError(f"plan of {plan.campaign}: no case {min(missing)} to run again")
    environments = list(dict.fromkeys(case.environment for case in cases))
    return {
        "schema": 1,
        "name": name,
        "question": question,
        "environments": environments,
        "variants": {name: v for name, v in plan.variants.items() if name in environments},
        "limits": {name: plan.limits[name] for name in _LIMITS if plan.limits.get(name)},
        "blocks": blocks,
        "seed": seed,
        "cases": [
            {"check": case.check, "environments": [case.environment], "fixed": case.params}
            for case in cases
        ],
    }
