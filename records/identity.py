# SPDX-License-Identifier: Apache-2.0
"""A case's id: a hash of what it is; the same case has the same id in every run and site."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

SHORT_DIGITS = 8
LONG_DIGITS = 16

_canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


def canonical_json(value: object) -> str:
    """The one spelling of a JSON value: keys sorted, no blanks, UTF-8, no NaN."""
    return _canonical(value)


def case_digest(
    check: str, environment: str, params_json: str, job: Mapping[str, Any] | None = None
) -> str:
    """SHA-256 over the canonical JSON of {check, environment, params}, in hexadecimal.

    `job` is what the case asks of its job beside ranks, a further key where there is such.
    """
    # The keys stand in sorted order, so the parts can be put together; params are encoded once.
    job_json = f',"job":{_canonical(job)}' if job else ""
    whole = (
        f'{{"check":{_canonical(check)},"environment":{_canonical(environment)}'
        f'{job_json},"params":{params_json}}}'
    )
    return hashlib.sha256(whole.encode()).hexdigest()


def case_ids(checks: Sequence[str], digests: Sequence[str]) -> list[str]:
    """The ids "check-digest" with 8 digits; cases of a campaign that share those take 16.

    32 bits are enough for the eye but not for 100,000 cases, of which about one pair collides.
    """
    short = [f"{c}-{d[:SHORT_DIGITS]}" for c, d in zip(checks, digests, strict=True)]
    times = Counter(short)
    return [
        name if times[name] == 1 else f"{check}-{digest[:LONG_DIGITS]}"
        for name, check, digest in zip(short, checks, digests, strict=True)
    ]


def case_id(check: str, environment: str, params: Mapping[str, Any]) -> str:
    """The id of a single case with complete parameters."""
    return f"{check}-{case_digest(check, environment, _canonical(params))[:SHORT_DIGITS]}"
