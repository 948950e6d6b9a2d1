# SPDX-License-Identifier: Apache-2.0
"""Vetting of the node that this process runs on, within a budget of time: its steps, facts by the
probe's script and figures by the C program, and the judgement of all."""

import os
import platform
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from assay import IS_CLONE, ROOT
from assay.commands import run_command
from assay.probe.node_text import node_facts
from checks.common.sources import CHECKS, LIBRARY, c_sources
from plugins.vetting import judge
from plugins.vetting.folder import TIME_FORM, VetFolder
from records.errors import AssayError, InfrastructureError
from records.flags import DISTURBED_SHARE
from records.site.node_facts import NodeFacts, kinds_of
from records.waiting import BUILD_S, scaled
from reports.notation.units import percent, readable_unit, significant, time_of

#: Seconds that each step measures, and that it may always take beyond that.
SECONDS: dict[judge.Step, float] = {"cores": 0.5, "latency": 0.5, "arithmetic": 2.0, "memory": 2.5}
SECONDS |= {"disk": 2.0, "link": 4.0}
FURTHER_S = 5.0
#: Looks at the mounts that do not answer, and seconds between two.
_LOOKS, _LOOK_S = 400, 0.005
_FACTS_SCRIPT = ROOT / "assay" / "probe" / "facts.sh"


class StepError(AssayError):
    """A step without a result, and why."""


def program_path() -> Path:
    """Where the measuring program is kept, for processors of this kind: in the clone, else in the
    environment that Assay is installed in, which nodes see and jobs do not write."""
    folder = ROOT if IS_CLONE else Path(sys.prefix)
    return folder / "build" / f"vet-{platform.machine()}" / "vet"


def build_program(*, current: bool = True) -> Path:
    """Compile the measuring program where it is missing or, `current`, older than its sources.

    Raises StepError where it is missing and cannot be made, e.g. on a node without a compiler.
    """
    path = program_path()
    if not current and path.is_file():
        return path
    sources = [file for folder in (LIBRARY, CHECKS / "node") for file in c_sources(folder)]
    words = ["make", "-s", "-C", str(LIBRARY), "vet", "CC=cc", "HOSTCC=cc"]
    try:
        newest = max(file.stat().st_mtime for file in sources)
        if path.is_file() and path.stat().st_mtime >= newest:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="assay-vet-", dir=path.parent) as out:
            words += [f"OUT={out}", f"FOLDERS={CHECKS / 'node'}"]
            said = run_command(words, os.environ, limit_s=scaled(BUILD_S)).said
            if (made := Path(out) / "vet").is_file():
                made.replace(path)
    except (OSError, InfrastructureError) as error:
        said = str(error)
    if not path.is_file():
        do = "make setup" if IS_CLONE else "assay vet --local"
        owner = f"run `{do}` as its owner on a host with a C compiler"
        raise StepError(f"no measuring program {path} ({said}): {owner}")
    return path


def look_at_facts(limit_s: float | None = None) -> NodeFacts:
    """Facts that the node says of itself. Raises StepError where it does not say it in time."""
    try:
        told = run_command(["sh", str(_FACTS_SCRIPT), "-"], os.environ, limit_s=limit_s)
        return node_facts(told.stdout)
    except (InfrastructureError, ValueError) as error:
        raise StepError(f"facts: {error}") from error


def silent_mounts(mounts: Iterable[str]) -> list[str]:
    """The mounts of these that do not answer; what waits for them is left behind, killed.

    They are waited for when /proc, asked last, has answered: a busy node takes as long for it.
    """
    none = subprocess.DEVNULL

    def ask(mount: str) -> subprocess.Popen[bytes]:
        words = ["stat", "-f", "--", mount]
        return subprocess.Popen(words, stdin=none, stdout=none, stderr=none)

    asked = {mount: ask(mount) for mount in mounts}
    ask("/proc").wait()
    for _ in range(_LOOKS):
        if all(one.poll() is not None for one in asked.values()):
            break
        time.sleep(_LOOK_S)
    silent = [mount for mount, one in asked.items() if one.poll() is None]
    for mount in silent:
        asked[mount].kill()
    return silent


def measure(step: judge.Step, options: Sequence[str], limit_s: float) -> list[judge.Figure]:
    """The figures of one step; none where the node has nothing to measure. Raises StepError."""
    program, seconds = str(build_program(current=False)), f"{SECONDS[step]:g}"
    words = [program, "--step", step, "--seconds", seconds, *options]
    try:
        answer = run_command(words, os.environ, limit_s=limit_s, called=step)
    except InfrastructureError as error:
        raise StepError(f"{error}") from error
    lines = []
    for text in answer.stdout.splitlines():
        with suppress(msgspec.MsgspecError):
            lines.append(msgspec.json.decode(text, type=dict[str, Any]))
    errors = [str(line.get("message")) for line in lines if line.get("assay") == "error"]
    if answer.status != 0 or errors:
        raise StepError(f"{step}: {'; '.join(errors) or answer.said}")
    others = max((one["value"] for one in lines if one.get("key") == "others"), default=0.0)
    own = {name for name, (of, *_) in judge.METRICS.items() if of == step}
    return [
        judge.Figure(metric=one["name"], value=one["value"], unit=one["unit"], others=others)
        for one in lines
        if one.get("assay") == "metric" and one["name"] in own and one["value"] > 0
    ]


Say = Callable[[str, str], object]
#: In the order of what they find in a second; a figure within the first one.
STEPS: tuple[judge.Step, ...] = ("facts", *SECONDS)
#: Seconds that a vetting waits for another one of the node to end.
PATIENCE_S, _TRIES = 10.0, 100
#: Seconds that a second look at an unfit figure waits, if the budget allows it.
APART_S = 10.0
#: Reasons in the line of a vetting.
MOST_REASONS = 3
#: Clocks of two hosts differ by less.
_CLOCKS_AGREE = timedelta(minutes=1)


@dataclass(frozen=True)
class VetRequest:
    """Request for a vetting: what is looked at, in which time, and where records are, if this is
    to `keep` its own; `neighbours` listen on `port`, the last one for the second look."""

    folder: VetFolder
    steps: Sequence[judge.Step] = (*SECONDS,)
    budget_s: float = 30.0
    disk: Path = Path("/tmp")  # noqa: S108  files without a name
    neighbours: Sequence[str] = ()
    port: int = 0
    keep: bool = True


def node_name() -> str:
    """Slurm's name of this node, else its short host name."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


class LocalVetting:
    """A vetting of this node; what cannot be measured makes it suspect, never unfit."""

    def __init__(self, request: VetRequest, say: Say) -> None:
        self.request, self.begun, self.now = request, time.monotonic(), datetime.now(UTC)
        name = f"{self.now:%Y%m%dT%H%M%SZ}-{(node := node_name())}-{secrets.token_hex(3)}"
        self.record = judge.Vetting(id=name, node=node, at=f"{self.now:{TIME_FORM}}")
        self.reference: judge.KindReference | None = None
        self.say = partial(say, node)

    def run(self) -> judge.Vetting:
        """The vetting; the record is kept. Raises StepError where the node does not say its facts:
        nothing can be judged then."""
        with socket.socket(socket.AF_UNIX) as lock:
            for _ in range(_TRIES):
                with suppress(OSError):
                    # The kernel forgets it with the process; of this host or network namespace.
                    lock.bind("\0assay-vet")
                    break
                time.sleep(PATIENCE_S / _TRIES)
            else:
                self.record.troubles.append("another vetting runs on this node")
                return self._ended()
            self._look_at_facts()
            self._read_reference()
            for step in self.request.steps:
                self._step(step)
            self._look_again()
            return self._ended()

    def _look_at_facts(self) -> None:
        facts = self.record.facts = look_at_facts(self._limit_s(0.0, self.request.steps))
        self.record.kind = kinds_of({self.record.node: facts}).get(self.record.node, "")
        has = f"{facts.kernel}, {facts.cores} cores, {(facts.memory_bytes or 0) / 2**30:.0f} GiB"
        has += f", {len(facts.nics)} adapters, {len(facts.file_systems)} mounts"
        self.say(f"facts: {has} · {self._took_s():.1f} s")
        silent = silent_mounts(facts.file_systems)
        self.record.troubles += [f"mount {mount} does not answer" for mount in silent]

    def _read_reference(self) -> None:
        folder, troubles = self.request.folder, self.record.troubles
        try:
            reference = folder.reference()
        except (OSError, msgspec.MsgspecError) as error:
            troubles.append(f"the reference cannot be read ({error})")
            return
        if reference is None:
            if "SLURM_JOB_ID" in os.environ and not folder.path.is_dir():
                troubles.append(f"this node does not see {folder.path}")
            return
        if time_of(reference.made_at) > self.now + _CLOCKS_AGREE:
            troubles.append(f"the clock is wrong: the reference was made {reference.made_at}")
        self.reference = reference.kinds.get(self.record.kind)
        self.record.oddities = self._oddities()
        for odd in self.record.oddities:
            self.say(f"facts: {odd.text} · {odd.word}")

    def _oddities(self) -> list[judge.Oddity]:
        return [*judge.oddities(self.record.facts, self.record.node, self.reference)]

    def _took_s(self) -> float:
        return time.monotonic() - self.begun

    def _limit_s(self, needed_s: float, later: Sequence[judge.Step]) -> float:
        """Seconds that a look of so many may take: all but those that later steps need."""
        left_s = self.request.budget_s - self._took_s()
        return max(needed_s + FURTHER_S, left_s - sum(SECONDS[step] + 1 for step in later))

    def _step(self, step: judge.Step) -> None:
        """Measure and judge; a figure that is there already is repeated."""
        record, left_s = self.record, self.request.budget_s - self._took_s()
        before = {one.metric: one for one in record.figures if judge.METRICS[one.metric][0] == step}
        options = ["--folder", str(self.request.disk)] if step == "disk" else []
        if step == "link":
            if not self.request.neighbours:
                return
            options = ["--host", self.request.neighbours[-1 if before else 0]]
            options += ["--port", str(self.request.port)]
        try:
            if left_s < SECONDS[step] + 1:
                raise StepError(f"{step}: the budget of {self.request.budget_s:g} s is used up")
            later = self.request.steps[self.request.steps.index(step) + 1 :]
            found = measure(step, options, min(left_s, self._limit_s(SECONDS[step], later)))
        except StepError as error:
            record.troubles.append(str(error))
            return
        for measured in found:
            figure = judge.judged_figure(measured, record.node, self.reference)
            first = before.get(figure.metric)
            if first is not None:
                # Both looks must say unfit, the better one counts. A suspect figure has no second
                # chance of being fit, but where other programs disturbed the first look.
                kept = first
                if first.word == "unfit":
                    kept = min(first, figure, key=lambda one: (one.loss or 0.0, one is first))
                elif first.others > DISTURBED_SHARE and figure.word == "fit":
                    kept = figure
                figure = replace(kept, first=first.value)
                record.figures.remove(first)
            record.figures.append(figure)
            self.say(f"{_figure_text(figure)} · {figure.word} · {self._took_s():.1f} s")

    def _look_again(self) -> None:
        """The second look, once, at what is unfit or disturbed; at all facts if one is unfit."""
        if any(odd.word == "unfit" for odd in self.record.oddities):
            self.record.facts = look_at_facts(self._limit_s(0.0, []))
            again = {odd.text for odd in self._oddities()}
            self.record.oddities = [odd for odd in self.record.oddities if odd.text in again]
        figures = self.record.figures
        known = [f for f in figures if f.level and f.word != "fit"]
        doubtful = (f for f in known if f.word == "unfit" or f.others > DISTURBED_SHARE)
        doubted = {judge.METRICS[f.metric][0] for f in doubtful}
        again_s = sum(SECONDS[step] + 2 for step in doubted)
        if any(one.word == "unfit" for one in figures):  # what disturbs may pass meanwhile
            time.sleep(max(0.0, min(APART_S, self.request.budget_s - self._took_s() - again_s)))
        for step in self.request.steps:
            if step in doubted:
                self._step(step)
        once = [one for one in figures if one.word == "unfit" and one.first is None]
        for figure in once:  # the second look could not be had
            figures[figures.index(figure)] = replace(figure, word="suspect")

    def _ended(self) -> judge.Vetting:
        record, known = self.record, self.reference is not None
        words = [*(f.word for f in record.figures), *(odd.word for odd in record.oddities)]
        doubtful: list[judge.Word] = ["suspect"] if record.troubles or not known else []
        record.word = max([*words, *doubtful], key=judge.WORDS.index, default="fit")
        record.took_s = round(self._took_s(), 3)
        record.neighbour = ",".join(self.request.neighbours)
        record.line = summary(record, has_reference=known)
        try:
            if self.request.keep:
                self.request.folder.keep(record)
        except OSError as error:
            record.word = "suspect" if record.word == "fit" else record.word
            line = record.line.replace(" is fit:", " is suspect:")
            record.line = f"{line}; no record: {self.request.folder.path} ({error.strerror})"
        return record


def _figure_text(figure: judge.Figure) -> str:
    """A figure with its level and bound, and the chance of either error."""
    title, better = judge.METRICS[figure.metric][1], judge.METRICS[figure.metric][3]
    unit = readable_unit(figure.unit, [figure.value])

    def shown(value: float | None) -> str:
        return significant((value or 0.0) / unit.factor)

    text = f"{title} {shown(figure.value)} {unit.label}".rstrip()
    if figure.level is None or figure.loss is None:
        return f"{text}, no reference"
    limit = "at least" if better == "higher" else "at most"
    loss = f"{percent(figure.loss)} worse than" if figure.loss > 0 else "as good as"
    text += f", {loss} {shown(figure.level)} of {figure.compared_with}"
    chances = [figure.chance_if_fit or 0.0, figure.chance_if_unfit or 0.0]
    fit, unfit = (f"{one:.1g}" if isfinite(one) else "–" for one in chances)
    text += f"; fit is {limit} {shown(figure.bound)}; chance if fit {fit}, if 10 % down {unfit}"
    return text + f"; other programs had {percent(figure.others, 0)}" * (figure.others > 0.02)


def reasons(vetting: judge.Vetting) -> list[str]:
    """Reasons for the word of a vetting, the worst first."""
    ordered = sorted(vetting.figures, key=lambda one: -(one.loss or 0.0))
    figures = [(f.word, _figure_text(f)) for f in ordered if f.level]
    found = [*((odd.word, odd.text) for odd in vetting.oddities), *figures]
    return [text for word, text in found if word == vetting.word != "fit"]


def summary(vetting: judge.Vetting, *, has_reference: bool) -> str:
    """Line that sums up a vetting: word, reason, what to do."""
    begin = f"{vetting.node} is {vetting.word}: "
    if vetting.word == "unfit":
        todo = "take it out of service (--drain by the site's policy)"
        return f"{begin}{_worst(reasons(vetting))}; seen twice; {todo}; record {vetting.id}"
    chance = max((f.chance_if_unfit or 0.0 for f in vetting.figures), default=None)
    if vetting.word == "fit" and chance is None:
        return f"{begin}its facts are as its peers'"
    if vetting.word == "fit":
        rest = f"a node 10 % down shows one of them with chance {chance:.1g} at most"
        return f"{begin}{len(vetting.figures)} figures and the facts are as its peers'; {rest}"
    why = _worst([*vetting.troubles, *reasons(vetting)])
    todo = "vet it again when nothing else runs on it"
    if vetting.oddities and not vetting.troubles:
        todo = "make it like its peers, or vet those again if they are wrong"
    if not has_reference or any(f.level is None for f in vetting.figures):
        why, todo = f"{why}; no reference".lstrip("; "), "make one: assay vet --reference"
    return f"{begin}{why}; {todo}; record {vetting.id}"


def _worst(why: Sequence[str]) -> str:
    """The first reasons, and how many the record has further."""
    more = [f"{len(why) - MOST_REASONS} more in the record"] if why[MOST_REASONS:] else []
    return "; ".join([*why[:MOST_REASONS], *more])
