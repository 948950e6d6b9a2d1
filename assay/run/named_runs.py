# SPDX-License-Identifier: Apache-2.0
"""The run that a command line means, and what it could mean where it names none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from records.errors import AssayError
from records.run.run_directory import RESULTS, RunDirectory, newest_runs, open_run
from reports.notation.labels import shortened

#: Runs that are proposed, and columns of a proposal.
MOST_OFFERED, _WIDTH = 5, 80

Fits = Callable[[RunDirectory], bool]


def run_of(
    name: str | None, fits: Fits = lambda _: True, kind: str = "run", first: str = "assay run quick"
) -> RunDirectory:
    """The run of this name, else the newest that `fits`, which is said on standard error. Raises
    AssayError where there is none; `kind` is the noun for it, `first` the command that makes it."""
    if name is not None:
        return open_run(name)
    found = next(fitting(fits), None)
    if found is None:
        raise AssayError(f"no {kind} below {RESULTS}/ yet; make one, e.g. with: {first}")
    print(f"the newest {kind}: {found.path}", file=sys.stderr)
    return open_run(str(found.path))


def fitting(fits: Fits = lambda run: bool(run.plan())) -> Iterator[RunDirectory]:
    """The runs below results/ that fit, by default those whose plan can be read, the newest first;
    damaged ones are none of them."""
    for run in newest_runs():
        with suppress(AssayError):
            if fits(run):
                yield run


def unsaid(what: str, *offered: tuple[str, Iterable[tuple[str, str]]]) -> AssayError:
    """The error of a command line that does not say `what`: commands under their headings, each
    with a text that is cut to the width of a line."""
    lines = [what]
    for heading, commands in offered:
        known = list(commands)
        widest = max((len(command) for command, _ in known), default=0)
        lines += [f"{heading}:"] if known else []
        for command, text in known:
            room = max(20, _WIDTH - 4 - widest)
            lines.append(f"  {command:{widest}}  {shortened(text, room)}".rstrip())
    return AssayError("\n".join(lines))
