# SPDX-License-Identifier: Apache-2.0
"""From a run directory to a night; the nights of a history that are not judged yet are judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from records.errors import AssayError, ExitStatus
from records.history import USUAL_FINDS
from records.history.model import Change, History, Night, NightValues, SeriesKey, context_of
from records.history.reading import read_history
from records.history.store import Store
from records.run.provenance import Provenance, read_provenance
from records.site.node_facts import kinds_of
from records.text.plain_text import one_line
from reports.answers import State
from reports.load.loading import Run, load_run
from reports.load.nights import nights_of
from reports.verdicts.nightly.forms import ContextPart, NightFinding
from reports.verdicts.nightly.judge import NightJudgement, judge
from reports.verdicts.nightly.tonight import Rules, Tonight, evidence, rules_for
from reports.verdicts.nightly.wording import context_changes


@dataclass(frozen=True)
class Checked:
    """The newest night of a history (of `history_file`) with its evidence and judgement."""

    tonight: Tonight
    judgement: NightJudgement
    history_file: str = ""

    @property
    def history(self) -> History:
        """The history, its changes up to date."""
        return self.tonight.history

    @property
    def rules(self) -> Rules:
        """The rules of the judgement."""
        return self.tonight.rules

    @property
    def night(self) -> Night:
        """The night that was judged."""
        return self.tonight.night

    @property
    def began(self) -> Provenance:
        """Provenance of the night's run as it began; empty where it is gone."""
        try:
            return read_provenance(Path(self.night.run_path) / "provenance.json")
        except AssayError:
            return Provenance()

    @property
    def context(self) -> list[ContextPart]:
        """Changes of software, machine and nodes since the night before."""
        nights, position = self.history.nights, self.tonight.position
        return context_changes(nights[position - 1], self.night) if position else []

    @property
    def bad_launches(self) -> int:
        """Launches of the night that were not ok (skipped cases do not count)."""
        return sum(self.night.statuses.get(word, 0) for word in ("failed", "wrong", "lost"))

    @property
    def more_nights(self) -> int:
        """Nights that the series need which are too young for PASS, at least."""
        return max(self.judgement.learning.values(), default=0)

    @property
    def state(self) -> State:
        """FAIL: a regression, new or open, a silent series, or bad launches. SUSPECT: something to
        run again. LEARNING: too few nights yet. INCONCLUSIVE: nothing could be judged, or not as
        finely as the site wants."""
        if self.judgement.of("regression", "open", "silent") or self.bad_launches:
            return State.FAIL
        if self.judgement.of("suspect"):
            return State.SUSPECT
        if self.judgement.learning:
            return State.LEARNING
        decided = self.judgement.judged and not self.judgement.wide_reasons
        return State.PASS if decided else State.INCONCLUSIVE

    @property
    def status(self) -> ExitStatus:
        """Exit status; an undecided night is no success."""
        known = {State.PASS: ExitStatus.PASS, State.FAIL: ExitStatus.FAIL}
        return known.get(self.state, ExitStatus.INCONCLUSIVE)

    @cached_property
    def first_findings(self) -> dict[int, NightFinding]:
        """The first finding of each series that has one."""
        return {item.series: item for item in reversed(self.judgement.findings)}


def check_history(
    store: Store,
    site: str,
    campaign: str,
    alarms_a_month: float = 1.0,
    finds: float = USUAL_FINDS,
) -> Checked:
    """Judge all nights not judged yet, oldest first, and the newest anew; keep what is found."""
    history = read_history(store, site, campaign)
    newest = history.nights[-1]
    rules = rules_for(len(history.series), alarms_a_month, finds, imported=newest.imported)
    nights, ids = nights_of(history, rules.least_launches), history.series_ids
    changes, unexplained = history.changes, history.unexplained.copy()
    for position, night in enumerate(history.nights):
        if night.judged and night is not newest:
            continue
        before = _before(changes, history, position)
        judgement = judge(evidence(nights, position, before, rules, unexplained))
        suspects = [item.series for item in judgement.of("suspect")]
        unexplained[:, position] = False
        unexplained[suspects, position] = True
        store.keep_judgement(
            night,
            [(ids[item.series], item) for item in judgement.changes],
            [ids[series] for series in suspects],
            finds,
        )
        if any(finding.change for finding in judgement.findings):
            changes = read_history(store, site, campaign).changes
    known = [*history.nights[:-1], replace(newest, judged=True, finds=finds)]
    history = replace(history, nights=known, changes=changes, unexplained=unexplained)
    return newest_night(history, str(store.path), rules)


def newest_night(history: History, history_file: str = "", rules: Rules | None = None) -> Checked:
    """The newest night by what the history holds; nothing is kept.

    A night that was judged has the changes that were found then, whatever its limits were.
    """
    position, night = len(history.nights) - 1, history.nights[-1]
    rules = rules or rules_for(len(history.series), finds=night.finds, imported=night.imported)
    found = [item for item in history.changes if item.found == night.id and item.accepted is None]
    before = _before(history.changes, history, position)
    tonight = evidence(nights_of(history, rules.least_launches), position, before, rules)
    judgement = judge(tonight, found if night.judged else None)
    return Checked(tonight, judgement, history_file)


def _before(changes: Sequence[Change], history: History, position: int) -> list[Change]:
    """The changes as they were known before a night; what somebody accepted stays."""
    night = history.nights[position].id
    return [
        replace(change, closed=None) if change.closed == night else change
        for change in changes
        if change.accepted or history.position(change.found) < position
    ]


MOST_FAILURES = 50


def read_night(directory: Path) -> tuple[Night, list[NightValues]]:
    """The night of a run directory: its context, its counts, the values of its ok launches.

    Of each check its deciding metric and those beside it are kept, all metrics where none decides.
    A metric that is not
    positive (and may not be zero) is left out with a warning. Raises AssayError for a directory
    that is no run, whose records are damaged, or that tells no time: nothing of it may then enter
    a history.
    """
    run = load_run(directory)
    warnings = list(run.warnings)
    values = []
    register = run.plan.register
    for series in run.series:
        case = run.plan.cases[series.case]
        if not register.is_kept(case.check, series.metric):
            continue
        metric = register.metrics[series.metric]
        if (series.values <= 0).any() and not metric.may_be_zero:
            warnings.append(f"{case.id}: {metric.name} is not positive; it was left out")
            continue
        key = SeriesKey(
            case_id=case.id,
            check=case.check,
            environment=case.environment,
            params=case.params,
            metric=metric.name,
            unit=metric.unit,
            better=metric.better,
            at=dict(series.at),
            title=register.metric_title(metric.name),
            check_title=register.check_title(case.check),
        )
        values.append(NightValues(key, tuple(series.values.tolist())))
    return _night(run, directory, warnings), values


def _night(run: Run, directory: Path, warnings: list[str]) -> Night:
    counted = list(run.counted())
    failures = [
        f"{run.case(launch).id} {run.case(launch).environment} block {launch.block}:"
        f" {launch.status}: {one_line(launch.reason or 'no reason recorded')}"
        for launch in counted
        if launch.status in ("failed", "wrong", "lost")
    ]
    return Night(
        run_id=run.run_id,
        site=run.plan.site,
        campaign=run.plan.campaign,
        started_at=_begun(run),
        context=context_of(run.provenance, run.nodes),
        nodes=run.nodes,
        statuses=dict(Counter(launch.status for launch in counted)),
        failures=tuple(failures[:MOST_FAILURES]),
        warnings=tuple(warnings),
        run_path=str(directory),
        kinds=kinds_of(run.provenance.nodes),
    )


def _begun(run: Run) -> str:
    """When the run began, or else its first launch, or else as its id says."""
    starts = (one.started_at for one in run.launches.details.values() if one.started_at)
    begun = run.provenance.started_at or min(starts, default=run.run_id.partition("-")[0])
    try:
        moment = datetime.fromisoformat(begun)
    except ValueError as error:
        raise AssayError(
            f"{run.directory / 'provenance.json'}: `started_at`: found {begun!r:.100}, allowed is a"
            " time such as 2026-11-20T23:50:11Z; put back the file that `assay run` wrote"
        ) from error
    return moment.isoformat().replace("+00:00", "Z")
