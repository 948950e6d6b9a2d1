# SPDX-License-Identifier: Apache-2.0
"""Explains a failure of Spack in one message: what, where, what to do."""

from __future__ import annotations

import re
from pathlib import Path

from records.errors import AssayError, InfrastructureError

#: What Spack prints, what it means, whether the user's input caused it. The first match counts.
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
        re.compile(r"All fetchers failed for (?:resource |spack-stage-)?(?P<what>\S+)"),
        "no source for {what}: neither the mirror {home}/mirror nor the recipe's own place gave it."
        " Fill the mirror: assay mirror create",
        False,
    ),
    (
        re.compile(r"Skipping build of \S+ since (?P<what>\S+) failed"),
        "{what} could not be built; the log ends with its reason",
        False,
    ),
    (
        re.compile(r"Timed out waiting for a \w+ lock"),
        "another Spack is building below {home}; wait for it, then begin again",
        False,
    ),
    (
        re.compile(r"no module named 'clingo'|cannot bootstrap the \"clingo\"", re.IGNORECASE),
        "Spack's solver clingo is missing; run: make setup",
        False,
    ),
    (
        re.compile(
            r"Error: (?P<what>.*(?:cannot match any known version|cannot satisfy|unsatisfiable"
            r"|failed to concretize|has no version that satisfies|not buildable)[^\n]*)",
            re.IGNORECASE,
        ),
        "Spack cannot resolve it: {what}. See compilers, externals and target in the site's"
        " packages.yaml and in the platform's",
        True,
    ),
)
_HASH = re.compile(r"-[a-z0-9]{32}\b")


def explained(doing: str, text: str, log: Path, home: Path) -> AssayError:
    """The error to raise when Spack failed at `doing`, having printed `text`, kept in `log`."""
    for pattern, meaning, by_user in _KNOWN:
        found = pattern.search(text)
        if found:
            what = _HASH.sub("", (found.groupdict().get("what") or "").split("/")[-1])
            message = meaning.format(what=what.strip(" .'\""), home=home)
            kind = AssayError if by_user else InfrastructureError
            return kind(f"{doing}: {message} (log: {log})")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    said = errors[0] if errors else (lines or ["Spack printed nothing"])[-1]
    return InfrastructureError(f"{doing}: {said[:300]} (log: {log})")
