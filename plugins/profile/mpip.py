# SPDX-License-Identifier: Apache-2.0
"""The text report of mpiP (version 3, verbose or concise) as an application's profile.

mpiP reports call sites: their calls and times, of what sends its message sizes as well. What its
report does not have is filled in as the notes of the profile say.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from plugins.profile.application_profile import (
    COMPLETES,
    PAIR,
    RECEIVES,
    SENDS,
    ApplicationProfile,
    OverRanks,
    ProfiledCall,
    checked,
)
from plugins.profile.application_profile import read_profile as read_own
from records.errors import AssayError
from records.input_files import read_whole

_MARK, _END = "@ mpiP", "End of Report"
_SECTION = re.compile(r"^@--- (.*?)[ -]*$")
_NUMBER = r"(\d[-+.\de]*|inf|nan)"
_TASK = re.compile(rf"^\s*(\d+)\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}$")
_ASSIGNED = re.compile(r"^@ MPI Task Assignment\s*:\s*(\d+)\s+(\S+)$")
_COMMAND = re.compile(r"^@ Command\s*: (.*)$")
#: Name, site, rank "*", count and three numbers: times or sizes.
_SITE = re.compile(rf"^(\w+)\s+(\d+)\s+\*\s+(\d+)\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}")
#: Name, site, time in ms, shares of it, count: the twenty costliest, all that a concise report has.
_TOP = re.compile(rf"^(\w+)\s+(\d+)\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+(\d+)")
_COLLECTIVE = re.compile(
    r"^I?(barrier|bcast|(all)?gatherv?|scatterv?|alltoall[vw]?|(all)?reduce|reduce_scatter(_block)?"
    r"|(ex)?scan)$",
    re.IGNORECASE,
)
_NONBLOCKING = re.compile(r"^(I(?!m?probe|nit|nter)[a-z]|Start(all)?$)")


def any_profile(path: Path) -> ApplicationProfile:
    """The profile in a file of ours, or in a report of mpiP. Raises AssayError."""
    content = read_whole(path)
    if not content.startswith(_MARK.encode()):
        return read_own(path)
    try:
        profile = mpip_profile(content.decode(errors="replace"), str(path))
    except (ValueError, OverflowError) as error:  # of no finite number
        raise AssayError(f"{path}: a damaged report of mpiP: {error}") from error
    return checked(profile, str(path))


def mpip_profile(text: str, where: str) -> ApplicationProfile:
    """The profile in the text of a report. Raises AssayError naming what it lacks."""
    sections: dict[str, list[str]] = defaultdict(list)
    name = ""
    for line in text.splitlines():
        if found := _SECTION.match(line):
            name = found[1]
        else:
            sections[name].append(line)
    hosts = {int(f[1]): f[2] for line in sections[""] if (f := _ASSIGNED.match(line))}
    tasks = [f for line in _of(sections, "MPI Time") if (f := _TASK.match(line))]
    calls, concise = _calls(sections)
    parts = {"section 'MPI Time (seconds)'": tasks, "time of a call site": calls}
    parts[f"section '{_END}'"] = name == _END
    if lacks := [part for part, found in parts.items() if not found]:
        raise AssayError(f"{where}: a report of mpiP without the {lacks[0]}; give a complete one")
    ranks = len(tasks)
    per_node = Counter(hosts.values()) or Counter({"": ranks})
    _place(calls, ranks, per_node)
    completing = divide_completions(calls)
    elapsed, mpi = ([float(task[column]) for task in tasks] for column in (2, 3))
    listed, reported = sum(call.time_s for call in calls), sum(mpi)
    scale = listed / reported if reported else 0.0
    found = next((f for line in sections[""] if (f := _COMMAND.match(line))), None)
    return ApplicationProfile(
        source="mpiP",
        command=_words(found[1]) if found else [],
        ranks=ranks,
        nodes=len(per_node),
        ranks_per_node=max(per_node.values()),
        elapsed_s=OverRanks.of(elapsed),
        mpi_s=OverRanks.of([scale * one for one in mpi]),
        outside_s=OverRanks.of(
            [max(0.0, one - used) for one, used in zip(elapsed, mpi, strict=True)]
        ),
        notes=list(_notes(scale, concise, completing)),
        calls=sorted(calls, key=lambda one: (one.call, one.greatest_bytes)),
    )


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote without its end
        return command.split()


def _of(sections: Mapping[str, list[str]], begin: str) -> list[str]:
    return next((lines for name, lines in sections.items() if name.startswith(begin)), [])


def _calls(sections: Mapping[str, list[str]]) -> tuple[list[ProfiledCall], bool]:
    """A call for each function and range of sizes; whether only the costliest sites are there."""
    sites = [
        (f[1], f[2], int(f[3]), 1e-3 * int(f[3]) * float(f[5]))
        for line in _of(sections, "Callsite Time statistics")
        if (f := _SITE.match(line))
    ]
    top = [
        (f[1], f[2], int(f[6]), 1e-3 * float(f[3]))
        for line in _of(sections, "Aggregate Time")
        if (f := _TOP.match(line))
    ]
    sizes = {
        (f[1], f[2]): tuple(float(f[column]) for column in (6, 4, 7))
        for line in _of(sections, "Callsite Message Sent statistics")
        if (f := _SITE.match(line))
    }
    merged: dict[tuple[str, int, int], ProfiledCall] = {}
    for name, site, count, time_s in sites or top:
        least, greatest, total = (int(one) for one in sizes.get((name, site), (0.0, 0.0, 0.0)))
        one = merged.setdefault(
            (name, least, greatest),
            ProfiledCall(
                call=name, least_bytes=least, greatest_bytes=greatest, bytes=0, ranks=0, nodes=0,
                count=0, time_s=0.0,
            ),
        )  # fmt: skip
        one.count += count
        one.time_s += time_s
        one.bytes += min(max(total, count * least), count * greatest)  # has three digits
    return [one for one in merged.values() if one.count], not sites


def _place(calls: list[ProfiledCall], ranks: int, per_node: Counter[str]) -> None:
    """Communicators and nodes; receives get the sizes of what is sent."""
    sends = [one for one in calls if one.call in SENDS and one.greatest_bytes]
    sent = sum(one.count for one in sends)
    pair_nodes = 1 if len(per_node) == 1 else PAIR if max(per_node.values()) == 1 else 0
    for one in calls:
        if one.call in SENDS or one.call in RECEIVES:
            one.ranks, one.nodes = PAIR, pair_nodes
            if one.call in RECEIVES and sent:
                one.least_bytes = min(other.least_bytes for other in sends)
                one.greatest_bytes = max(other.greatest_bytes for other in sends)
                one.bytes = round(one.count * sum(other.bytes for other in sends) / sent)
        elif _COLLECTIVE.match(one.call):
            one.ranks, one.nodes = ranks, len(per_node)


def divide_completions(calls: list[ProfiledCall]) -> bool:
    """Divide the time of completing calls among what they complete; whether there are any."""
    begun = [one for one in calls if _NONBLOCKING.match(one.call)]
    done = [one for one in calls if one.call in COMPLETES]
    number, time_s = sum(one.count for one in begun), sum(one.time_s for one in done)
    if not number:
        return False
    for one in begun:
        one.completing_s = time_s * one.count / number
        one.time_s += one.completing_s
    for one in done:
        one.time_s = 0.0
    return bool(done)


def _notes(scale: float, concise: bool, completing: bool) -> Iterator[str]:
    yield "mpiP measures no wait and no overlap"
    yield "mpiP names no communicators: collective calls count as those of all ranks"
    yield "mpiP has no sizes of receives: they have those of what is sent"
    if completing:
        yield "the time of Wait and Test calls is divided evenly among all nonblocking calls"
    if concise:
        yield "the report has no message sizes and only the costliest call sites"
    if abs(scale - 1) > 0.05:
        yield f"the call sites of the report have {100 * scale:.0f} % of the time in MPI"
