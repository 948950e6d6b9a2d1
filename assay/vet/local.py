# SPDX-License-Identifier: Apache-2.0
"""One vetting of the node that this process runs on, within a budget of time."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from pathlib import Path

import msgspec
from msgspec.structs import replace

from assay.vet.folder import VetFolder, utc_text
from assay.vet.measuring import (
    FURTHER_S,
    SECONDS,
    StepError,
    build_program,
    look_at_facts,
    measure,
    silent_mounts,
)
from records.site.node_facts import NodeFacts, kinds_of
from records.vetting import METRICS, Figure, KindReference, Oddity, Step, Vetting, Word
from reports.notation.units import percent, readable_unit, significant, time_of
from reports.verdicts.vetting.judge import judged_figure, oddities, worst_word

Say = Callable[[str], object]
#: In the order of what they find in a second.
STEPS: tuple[Step, ...] = ("facts", "memory", "arithmetic", "latency", "cores", "disk", "link")
#: Clocks of two hosts differ by less.
_CLOCKS_AGREE = timedelta(minutes=1)


@dataclass(frozen=True)
class VetRequest:
    """What is looked at, in which time, and where records are; `neighbour` listens on `port`."""

    folder: VetFolder
    steps: Sequence[Step] = STEPS
    budget_s: float = 30.0
    disk: Path = Path("/tmp")  # noqa: S108  files without a name
    neighbour: str = ""
    port: int = 0


def node_name() -> str:
    """What Slurm calls this node, else its short host name."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


def vet_here(request: VetRequest, say: Say) -> Vetting:
    """Vet this node; what cannot be measured makes it suspect, never unfit."""
    return _LocalVetting(request, say).run()


class _LocalVetting:
    def __init__(self, request: VetRequest, say: Say) -> None:
        self.request, self.begun, now = request, time.monotonic(), datetime.now(UTC)
        self.node, self._say = node_name(), say
        self.troubles: list[str] = []
        self.facts = NodeFacts()
        self.figures: list[Figure] = []
        self.oddities: list[Oddity] = []
        stamp = now.strftime("%Y%m%dT%H%M%SZ")
        self.id, self.at = f"{stamp}-{self.node}-{secrets.token_hex(3)}", now
        self.reference: KindReference | None = None

    def say(self, text: str) -> None:
        """Say something of the node."""
        self._say(f"{self.node} {text}")

    def run(self) -> Vetting:
        """The vetting; the record is kept."""
        # A name that the kernel forgets with the process; of this host or network namespace.
        with socket.socket(socket.AF_UNIX) as lock:
            try:
                lock.bind("\0assay-vet")
            except OSError:
                self.troubles.append("another vetting runs on this node")
                return self._ended()
            self._look_at_facts()
            self._read_reference()
            for step in self.request.steps:
                if step != "facts":
                    self._step(step)
            self._look_again()
            return self._ended()

    def _look_at_facts(self) -> None:
        try:
            self.facts = look_at_facts()
        except StepError as error:
            self.troubles.append(str(error))
            return
        facts, size = self.facts, (self.facts.memory_bytes or 0) / 2**30
        has = f"{facts.kernel}, {facts.cores} cores, {size:.0f} GiB, {len(facts.nics)} adapters"
        self.say(f"facts: {has}, {len(facts.file_systems)} mounts · {self._took_s():.1f} s")
        for mount in silent_mounts(facts.file_systems):
            self.troubles.append(f"mount {mount} does not answer")

    def _read_reference(self) -> None:
        try:
            reference = self.request.folder.reference()
        except (OSError, msgspec.MsgspecError) as error:
            self.troubles.append(f"the reference cannot be read ({error})")
            return
        if reference is None:
            if "SLURM_JOB_ID" in os.environ and not self.request.folder.path.is_dir():
                self.troubles.append(f"this node does not see {self.request.folder.path}")
            return
        if time_of(reference.made_at) > self.at + _CLOCKS_AGREE:
            self.troubles.append(f"the clock is wrong: the reference was made {reference.made_at}")
        self.reference = reference.kinds.get(self._kind())
        self.oddities = [*oddities(self.facts, self.node, self.reference)]
        for odd in self.oddities:
            self.say(f"facts: {odd.text} · {odd.word}")

    def _kind(self) -> str:
        return kinds_of({self.node: self.facts}).get(self.node, "")

    def _took_s(self) -> float:
        return time.monotonic() - self.begun

    def _step(self, step: Step) -> None:
        """Measure and judge; a figure that is there already is repeated."""
        left_s = self.request.budget_s - self._took_s()
        if step == "link" and not self.request.neighbour:
            return
        if left_s < SECONDS[step] + 1:
            self.troubles.append(f"{step}: the budget of {self.request.budget_s:g} s is used up")
            return
        options = {
            "disk": ["--folder", str(self.request.disk)],
            "link": ["--host", self.request.neighbour, "--port", str(self.request.port)],
        }.get(step, [])
        try:
            build_program(current=False)
            found = measure(step, options, min(left_s, SECONDS[step] + FURTHER_S))
        except StepError as error:
            self.troubles.append(str(error))
            return
        before = {one.metric: one for one in self.figures}
        for measured in found:
            figure = judged_figure(measured, self.node, self.reference)
            first = before.get(figure.metric)
            if first is not None:
                # Both looks must say unfit; the better one counts.
                kept = min(first, figure, key=lambda one: (one.loss or 0.0, one is first))
                figure = replace(kept, first=first.value)
                self.figures.remove(first)
            self.figures.append(figure)
            self.say(f"{_figure_text(figure)} · {figure.word} · {self._took_s():.1f} s")

    def _look_again(self) -> None:
        """The second look at what is not fit: once, and all the facts if one of them is odd."""
        if any(odd.word == "unfit" for odd in self.oddities):
            self.facts = look_at_facts()
            again = {odd.text for odd in oddities(self.facts, self.node, self.reference)}
            self.oddities = [odd for odd in self.oddities if odd.text in again]
        doubted = {METRICS[f.metric][0] for f in self.figures if f.level and f.word != "fit"}
        for step in self.request.steps:
            if step in doubted:
                self._step(step)

    def _ended(self) -> Vetting:
        words = [*(f.word for f in self.figures), *(odd.word for odd in self.oddities)]
        doubtful: list[Word] = ["suspect"] if self.troubles or self.reference is None else []
        word = worst_word([*words, *doubtful])
        vetting = Vetting(
            id=self.id,
            node=self.node,
            at=utc_text(self.at),
            kind=self._kind(),
            word=word,
            took_s=round(self._took_s(), 3),
            neighbour=self.request.neighbour,
            figures=self.figures,
            oddities=self.oddities,
            troubles=self.troubles,
            facts=self.facts,
        )
        vetting = replace(vetting, line=summary(vetting, has_reference=self.reference is not None))
        try:
            self.request.folder.keep(vetting)
        except OSError as error:
            line = f"{vetting.line}; no record: {self.request.folder.path} ({error.strerror})"
            word = "suspect" if vetting.word == "fit" else vetting.word
            vetting = replace(vetting, word=word, line=line.replace(" is fit:", " is suspect:"))
        return vetting


def _figure_text(figure: Figure, *, with_chances: bool = True) -> str:
    """A figure with its level and bound, and the chance of either error."""
    title, better = METRICS[figure.metric][1], METRICS[figure.metric][3]
    unit = readable_unit(figure.unit, [figure.value])

    def shown(value: float | None) -> str:
        return significant((value or 0.0) / unit.factor)

    text = f"{title} {shown(figure.value)} {unit.label}"
    if figure.level is None or figure.loss is None:
        return f"{text}, no reference"
    limit = "at least" if better == "higher" else "at most"
    loss = f"{percent(figure.loss)} worse than" if figure.loss > 0 else "as good as"
    text += f", {loss} {shown(figure.level)} of {figure.compared_with}"
    text += f"; fit is {limit} {shown(figure.bound)}"
    if not with_chances:
        return text
    chances = [figure.chance_if_fit or 0.0, figure.chance_if_unfit or 0.0]
    fit, unfit = (f"{one:.1g}" if isfinite(one) else "–" for one in chances)
    others = f"; other programs had {percent(figure.others, 0)}" if figure.others > 0.02 else ""
    return f"{text}; chance if fit {fit}, if 10 % down {unfit}{others}"


def reasons(vetting: Vetting) -> list[str]:
    """What makes a vetting what it is, the worst first."""
    sure = vetting.word == "unfit"
    ordered = sorted(vetting.figures, key=lambda one: -(one.loss or 0.0))
    figures = [(f.word, _figure_text(f, with_chances=sure)) for f in ordered if f.level]
    found = [*((odd.word, odd.text) for odd in vetting.oddities), *figures]
    return [text for word, text in found if word == vetting.word != "fit"]


def summary(vetting: Vetting, *, has_reference: bool) -> str:
    """The one line of a vetting: word, reason, what to do."""
    begin = f"{vetting.node} is {vetting.word}: "
    if vetting.word == "unfit":
        todo = "take it out of service (--drain by the site's policy)"
        return f"{begin}{'; '.join(reasons(vetting))}; seen twice; {todo}; record {vetting.id}"
    if vetting.word == "fit":
        chance = max((f.chance_if_unfit or 0.0 for f in vetting.figures), default=0.0)
        return (
            f"{begin}{len(vetting.figures)} figures and the facts are as before and as its peers';"
            f" a node 10 % down shows one of them with chance {chance:.1g} at most"
        )
    why = [*vetting.troubles, *reasons(vetting)]
    todo = "vet it again when nothing else runs on it"
    if not has_reference or any(f.level is None for f in vetting.figures):
        why.append("no reference")
        todo = "make one: assay vet --reference"
    return f"{begin}{'; '.join(why)}; {todo}; record {vetting.id}"


def words_of(names: Iterable[str]) -> tuple[Step, ...]:
    """The steps of these names, in their order. Raises ValueError for another name."""
    asked = {*names}
    if odd := asked - {*STEPS}:
        raise ValueError(f"step {min(odd)}: allowed are {', '.join(STEPS)}")
    return tuple(step for step in STEPS if step in asked)
