# SPDX-License-Identifier: Apache-2.0
"""The campaign of a re-run: some cases of a run and nothing else, in fresh launches."""

from collections.abc import Mapping, Sequence
from typing import Any

from records.errors import AssayError
from records.run.plan import Plan, PlannedCase

#: Limits of a single launch; those of the whole run do not hold for a part of it.
_LIMITS = ("launch_s", "retries")
#: Checks that measure pairs of nodes, and their parameter that names those that are measured.
CHECKS_OF_PAIRS, ONLY = frozenset({"alltoall_pairs"}), "only"
#: So many pairs are named at most, in so many bytes with the commas between them: they are one
#: argument of a command line, and Linux takes 131,072 bytes.
MOST_PAIRS, MOST_BYTES_OF_PAIRS = 4000, 120_000


def rerun_campaign(
    plan: Plan,
    wanted: Mapping[str, Sequence[str]],
    *,
    name: str,
    question: str,
    blocks: int,
    seed: int,
) -> dict[str, Any]:
    """The content of a campaign file that runs these cases of the plan again, by id. Every
    parameter is written out, so the cases keep their ids; but for those of which only some pairs of
    nodes are `wanted` (none: all). Raises AssayError for a case that the plan lacks."""
    cases = [case for case in plan.cases if case.id in wanted]
    missing = set(wanted) - {case.id for case in cases}
    if missing:
        raise AssayError(f"plan of {plan.campaign}: no case {min(missing)} to run again")
    environments = list(dict.fromkeys(case.environment for case in cases))
    limits = {name: plan.limits[name] for name in _LIMITS if plan.limits.get(name)}
    if plan.mix_blocks:  # as great mixes, of the same work
        limits["jobs_at_once"] = plan.mix_blocks * len(cases)
    return {
        "schema": 1,
        "name": name,
        "question": question,
        "environments": environments,
        "variants": {name: v for name, v in plan.variants.items() if name in environments},
        "limits": limits,
        **({"weights": plan.weights} if plan.mix_blocks else {}),
        "blocks": blocks,
        "seed": seed,
        "cases": [
            {
                "check": case.check,
                "environments": [case.environment],
                "fixed": {**case.params, **({ONLY: [*only]} if (only := wanted[case.id]) else {})},
            }
            for case in cases
        ],
    }


def argument_bytes(pairs: Sequence[str]) -> int:
    """Bytes of pairs as one argument, to be held against MOST_BYTES_OF_PAIRS."""
    return len(",".join(pairs).encode())


def rerun_ids(plan: Plan, rerun: Plan) -> dict[str, str]:
    """For each case of a re-run the id of the plan's case that it ran again, of all pairs or of
    some; those that are none are missing."""
    ids = {case.id: case.id for case in plan.cases}
    scans = {_scan(case): case.id for case in plan.cases if case.check in CHECKS_OF_PAIRS}
    found = {case.id: ids.get(case.id) or scans.get(_scan(case)) for case in rerun.cases}
    return {name: again for name, again in found.items() if again is not None}


def _scan(case: PlannedCase) -> tuple[str, str, str]:
    """Key that distinguishes a case from others, whichever pairs it measures."""
    params = {name: value for name, value in case.params.items() if name != ONLY}
    return case.check, case.environment, repr(sorted(params.items()))
