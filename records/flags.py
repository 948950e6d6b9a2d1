# SPDX-License-Identifier: Apache-2.0
"""Flags of a record: short words that stand beside a launch's numbers wherever they are shown."""

from collections.abc import Iterable

OVERSUBSCRIBED = "oversubscribed"
PARTIAL = "partial"
NETWORK_UNPROVEN = "network-unproven"
INVALID_ON_PURPOSE = "invalid-reply-before-wait"
BEYOND_LIMIT = "beyond-limit"
TOO_SHORT = "too-short"
UNPROVEN = "unproven"
DISTURBED = "disturbed"
REFERENCE_MISSED = "reference-missed"
EXPECTED_FAILURE = "expected-failure"
UNEXPECTED_PASS = "unexpected-pass"  # noqa: S105  no password
#: Of a longer raw file, half of this from its begin and half from its end are kept.
RAW_LIMIT_BYTES = 64 * 2**20
RAW_CUT = "raw-cut-to-64-MiB"

#: Share of its cores that other programs have, beyond which a launch tells little of the machine.
DISTURBED_SHARE = 0.25

#: What each flag says; a check may set others, e.g. the version of a foreign program.
MEANINGS = {
    OVERSUBSCRIBED: "busy ranks shared a core: the times are those of the scheduler",
    PARTIAL: "the launch failed before its end; what it had measured by then is kept",
    NETWORK_UNPROVEN: "network not proven: no counter that can be read shows the traffic of MPI"
    " between nodes",
    INVALID_ON_PURPOSE: "the reply was sent before the message had arrived: wrong on purpose",
    BEYOND_LIMIT: "more than the nominal link less headers, cores or memory can give: no speed of"
    " the machine",
    TOO_SHORT: "it measured for so short a time (less than 0.2 s in one go, 1 ms of samples) that"
    " a clock change or another task decides its values; `assay plan` proposes a size",
    DISTURBED: "other programs had more than 25 % of the cores of its ranks: its times are partly"
    " theirs, but for those of check `node`, and an acceptance does not rest on the launch",
    UNPROVEN: "no evidence from inside the ranks: that it ran on the nodes of its job is Slurm's"
    " statement, which MPI library served it is not known",
    REFERENCE_MISSED: "the test's own reference was missed; the value counts all the same",
    EXPECTED_FAILURE: "the test failed, as it declares that it will (xfail)",
    UNEXPECTED_PASS: "the test passed though it declares that it will fail (xpass)",
    RAW_CUT: "a raw file was longer than 64 MiB: of its begin and of its end 32 MiB are kept",
}


def shares_cores(flags: Iterable[str]) -> bool:
    """Tell whether flags say that busy ranks shared a core: no time of the machine."""
    return any(flag.startswith(OVERSUBSCRIBED) for flag in flags)


def meaning(text: str) -> str:
    """Meaning of a flag that begins a text such as "oversubscribed in 2 of 5"; "" for others."""
    return next((said for flag, said in MEANINGS.items() if text.startswith(flag)), "")
