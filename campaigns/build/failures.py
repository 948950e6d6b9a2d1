# SPDX-License-Identifier: Apache-2.0
"""What went wrong in Spack, as one message: what, where, what to do."""

from __future__ import annotations

import re
from pathlib import Path

from campaigns.errors import AssayError, InfrastructureError

#: First match decides: what Spack prints, what it means, whether the user's input caused it.
_KNOWN = (
    (
        re.compile(r"No space left on device|Disk quota exceeded"),
        "the disk is full below {home}; make room, or name another place with ASSAY_SPACK_HOME",
        False,
    ),
    (
        re.compile(r"sha256 checksum failed for (?P<what>\S+)"),
        "{what} has not the checksum that its recipe states; it was not used. Fill the source"
        " mirror anew: assay mirror create",
        False,
    ),
    (
        re.compile(r"All fetchers failed for (?:resource )?(?P<what>\S+)"),
        "no source for {what}: neither the mirror {home}/mirror nor the recipe's own place gave it."
        " Fill the mirror: assay mirror create",
        False,
    ),
    (
        re.compile(r"no module named 'clingo'|Cannot find.*clingo|cannot bootstrap.*clingo", re.I),
        "Spack's solver clingo is missing; run: make setup",
        False,
    ),
    (
        re.compile(r"Failed to (?:clone|fetch).*(?P<what>packages?\.git|repo\S*)", re.I),
        "Spack's package repository could not be fetched; run: make spack, or name a checkout with"
        " ASSAY_SPACK_PACKAGES",
        False,
    ),
    (
        re.compile(
            r"(?:error|Error):.*?(?P<what>(?:cannot satisfy|failed to concretize|unsatisfiable"
            r"|cannot find|no version|not buildable|Unknown compiler|cannot build)[^\n]*)",
            re.I,
        ),
        "Spack cannot resolve it: {what}. See compilers, externals and target in the site's"
        " packages.yaml and in the platform's",
        True,
    ),
)


def explained(doing: str, text: str, log: Path, home: Path) -> AssayError:
    """The error to raise when Spack failed at `doing`, having printed `text`, kept in `log`."""
    for pattern, meaning, by_user in _KNOWN:
        found = pattern.search(text)
        if found:
            what = found.groupdict().get("what") or ""
            message = meaning.format(what=what.strip(" .'\""), home=home)
            kind = AssayError if by_user else InfrastructureError
            return kind(f"{doing}: {message} (log: {log})")
    return InfrastructureError(f"{doing}: {_last_error(text)} (log: {log})")


def _last_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["Spack said nothing"])[0 if errors else -1][:300]
