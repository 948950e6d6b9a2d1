# SPDX-License-Identifier: Apache-2.0
"""Findings of a night and changes of a history: the judge's structs, which are the keys of
night.json and of `assay nightly --json`, and the columns of tables; series, changes and findings in
words; a history as lists."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from records.forms import Form, Part, key
from records.history.model import NODE_FACT, Change, History, Kind, Missed, Night, SeriesKey, Stage
from records.text.plain_text import natural, one_line
from reports.answers import AnswerPart
from reports.load.nights import concerns, told_by_nodes
from reports.notation import units
from reports.notation.labels import check_labels, point_text
from reports.notation.units import percent
from reports.show.tables import Cell, in_unit

#: regression: found tonight, confirmed. open: found earlier, still there, not accepted. suspect:
#: slower than allowed; re-run needed. dismissed: the re-run was good. improvement: stays. better:
#: tonight only. recovered: a regression that went back by itself. silent: no value, or zero, where
#: there was one night after night. The other three are of series without a finding.
Verdict = Literal[
    "regression",
    "open",
    "silent",
    "suspect",
    "dismissed",
    "recovered",
    "improvement",
    "better",
    "as usual",
    "learning",
    "not judged",
]


#: Tones of findings, the gravest foremost.
TONES: dict[Verdict, Literal["", "bad", "open", "good"]] = {
    "regression": "bad",
    "open": "bad",
    "silent": "bad",
    "suspect": "open",
    "dismissed": "",
    "recovered": "",
    "improvement": "good",
    "better": "",
}


def verdict_cell(verdict: Verdict) -> Cell:
    """A verdict in its tone."""
    return Cell(verdict, tone=TONES.get(verdict, ""))


def moment(at: str) -> str:
    """The day, and the time to the minute (UTC)."""
    return at[:16].replace("T", " ")


def causes_text(causes: list[str]) -> str:
    """Changes of that night in one text."""
    return "; ".join(causes) or "nothing known"


def _signed(worse: float) -> str:
    return f"{'+' if worse >= 0 else '−'}{percent(abs(worse))}"


def _figure(text: str, title: str, show: Callable[..., str] = in_unit) -> Any:
    """`key` of a figure, in a column that is set flush right."""
    return key(text, title, show, numeric=True)


class NightAddedForm(Form, kw_only=True):
    """`assay nightly add`: a run taken into the history."""

    run_id: Annotated[str, key("The run's id.")]
    site: Annotated[str, key("Its site.")]
    campaign: Annotated[str, key("Its campaign.")]
    series: Annotated[int, key("Series that have a value.")]
    launches: Annotated[dict[str, int], key("Launches by how they ended.")]


class ChangeAcceptedForm(Form, kw_only=True):
    """`assay nightly accept-change`: changes taken as the new reference."""

    changes: Annotated[list[int], key("Their numbers.")]
    author: Annotated[str, key("Who accepts.")]
    reason: Annotated[str, key("Why.")]


class GroupPart(Part):
    """A campaign on a site."""

    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    nights: Annotated[int, key("Nights in the history.")]


class NightPart(Part):
    """A night in the history."""

    run_id: Annotated[str, key("Its run.")]
    started_at: Annotated[str, key("When it began (UTC).")]
    launches: Annotated[dict[str, int], key("Launches by how they ended.")]
    changes_found: Annotated[int, key("Changes that were found that night.")]


class MissedPart(Part):
    """A night that could not run."""

    site: Annotated[str, key("The site.")]
    campaign: Annotated[str, key("The campaign.")]
    at: Annotated[str, key("When that was known (UTC).")]
    reason: Annotated[str, key("Why.")]


class SeriesPart(Part, kw_only=True):
    """Key of a series, and its names."""

    name: Annotated[str, key("Check, environment, and case among the check's.", "series")]
    point: Annotated[str, key("Metric and point.", "point")]
    case_id: Annotated[str, key("The case.")]
    check: Annotated[str, key("The check.")]
    environment: Annotated[str, key("The environment.")]
    metric: Annotated[str, key("The metric.")]
    unit: Annotated[str, key("Its SI unit.")]
    better: Annotated[Literal["higher", "lower", "unknown"], key("Which direction is better.")]
    at: Annotated[dict[str, Any], key("The point.")]


class ChangePart(SeriesPart, kw_only=True):
    """A change of one series."""

    id: Annotated[int, key("Its number, as `accept-change` takes it; 0: none yet.", "no.")]
    since: Annotated[str, key("Its first night (UTC); early: at the latest.", "since", moment)]
    kind: Annotated[Kind, key("Worse or better.", "kind")]
    stage: Annotated[
        Stage, key("early: a step in the first nights; peers: beside other nodes.", "found by")
    ]
    before: Annotated[float, key("Median before, in SI base units.", "before", in_unit)]
    after: Annotated[float, key("Median after.", "after", in_unit)]
    n_before: Annotated[int, key("Nights, or of stage peers nodes, behind the median before.")]
    size: Annotated[str, key("How the medians compare, in words.", "change")]
    causes: Annotated[
        list[str], key("Changes known of that night.", "changed that night", causes_text)
    ]
    state: Annotated[
        Literal["open", "went back", "accepted", "new reference"], key("Its state.", "state")
    ]
    author: Annotated[str | None, key("Who accepted it.", "accepted by")]
    reason: Annotated[str | None, key("Why it was accepted.", "because")]


class HistoryForm(Form, kw_only=True):
    """`assay nightly show`: nights and changes of the group asked for."""

    groups: Annotated[list[GroupPart], key("All campaigns and sites of the history.")]
    site: Annotated[str | None, key("The site of the nights below; null: there are none.")]
    campaign: Annotated[str | None, key("Their campaign.")]
    nights: Annotated[list[NightPart], key("Nights, the oldest first.")]
    missed: Annotated[list[MissedPart], key("Nights that could not run.")]
    changes: Annotated[list[ChangePart], key("Every change that was found.")]


class ContextPart(Part):
    """Something that changed since the night before."""

    name: Annotated[str, key("What it is.", "what")]
    before: Annotated[str | None, key("What it was.", "before")]
    after: Annotated[str | None, key("What it is.", "tonight")]


class NightFinding(SeriesPart, kw_only=True):
    """Finding of one series."""

    series: Annotated[int, key("Its position among the series of the history.")]
    verdict: Annotated[Verdict, key("What is said.", "verdict", verdict_cell)]
    value: Annotated[float | None, _figure("Tonight's median, in SI base units.", "tonight")]
    reference: Annotated[
        float | None, _figure("Median of nights before, or of other nodes tonight.", "reference")
    ]
    worse: Annotated[
        float | None, _figure("By what share it is worse; negative: better.", "worse by", _signed)
    ]
    limit: Annotated[float | None, _figure("By what share it may be worse.", "limit", percent)]
    compared_with: Annotated[
        Literal["nights", "nodes"], key("Nights before, or other nodes tonight.", "of")
    ]
    n: Annotated[int, key("Nights or nodes of the reference.", "n", numeric=True)]
    rerun: Annotated[float | None, _figure("The re-run's median.", "run again")]
    elsewhere: Annotated[
        float | None, _figure("The median of a re-run on other nodes.", "on other nodes")
    ]
    slow_elsewhere: Annotated[bool | None, key("True if other nodes are slow; null: not known.")]
    note: Annotated[str, key("Why it is not judged, or can support no PASS.", "note")] = ""
    change: Annotated[ChangePart | None, key("The change.")] = None

    @property
    def size(self) -> float:
        """Distance of tonight from the reference, either way; 0 where it has no value."""
        return abs(self.worse or 0.0)

    @property
    def of_peers(self) -> bool:
        """True where the reference is the level of other nodes tonight, not of nights before."""
        return self.compared_with == "nodes"


class NightForm(Form, kw_only=True):
    """`assay nightly check`, `assay nightly run`, and night.json: the newest night, judged."""

    schema: Annotated[int, key("The version of this form.")] = 2
    site: Annotated[str, key("The site.")]
    campaign: Annotated[str, key("The campaign.")]
    run_id: Annotated[str, key("The run.")]
    started_at: Annotated[str, key("When it began (UTC).")]
    verdict: Annotated[str, key("PASS, FAIL, SUSPECT, INCONCLUSIVE or LEARNING.")]
    exit_status: Annotated[int, key("What the command exits with.")]
    answer: Annotated[AnswerPart, key("The answer.")]
    summary: Annotated[str, key("Its sentence.")]
    nodes: Annotated[list[str], key("Nodes of the night.")]
    other_nodes: Annotated[list[str], key("Nodes of re-runs elsewhere.")]
    launches: Annotated[dict[str, int], key("Launches by how they ended.")]
    failures: Annotated[list[str], key("What went wrong.")]
    warnings: Annotated[list[str], key("Warnings of the run.")]
    judged: Annotated[int, key("Series that were compared with earlier nights.")]
    compared: Annotated[int, key("Series that were compared with other nodes tonight.")]
    learning: Annotated[int, key("Series with too few nights to support PASS.")]
    more_nights: Annotated[int, key("How many more nights they need, at least.")]
    finds: Annotated[float, key("The least change to be found (`--find`), a fraction.")]
    not_judged: Annotated[dict[str, int], key("Series that were not, by the reason.")]
    wide_limits: Annotated[dict[str, int], key("Series with too wide a limit, by the reason.")]
    context_changes: Annotated[list[ContextPart], key("What changed since the night before.")]
    findings: Annotated[list[NightFinding], key("What is said of series.")]


def context_changes(before: Night, after: Night) -> list[ContextPart]:
    """Software, machine and node set that changed from one night to another.

    A night that asked no nodes says nothing of what these tell, nor one that asked no library of
    its device.
    """
    known, both = before.context, before.context.keys() & after.context.keys()
    nodes_asked = all(
        any(name.startswith(NODE_FACT) for name in night.context) for night in (before, after)
    )
    return [
        ContextPart(name, known.get(name), after.context.get(name))
        for name in sorted(known.keys() | after.context.keys())
        if known.get(name) != after.context.get(name)
        and (nodes_asked or not told_by_nodes(name))
        and (name in both or not name.endswith(".device"))
    ]


#: Nights that a list for people shows.
_MOST_NIGHTS = 30


def case_labels(history: History) -> dict[str, str]:
    """For each case id what tells it from the check's other cases of the history; "" if nothing."""
    labels = check_labels(history.series)
    return {key.case_id: ", ".join(labels[key.check].told(key)) for key in history.series}


def case_names(history: History) -> dict[str, str]:
    """For each case id its check, what tells it from the check's others, and the environment."""
    labels = case_labels(history)
    return {
        key.case_id: f"{key.check_title} in {key.environment}"
        + (f" ({labels[key.case_id]})" if labels[key.case_id] else "")
        for key in history.series
    }


def at_text(key: SeriesKey | SeriesPart) -> str:
    """The point of a series: "Send/Recv, 1024 B"; empty without one."""
    return ", ".join(point_text(name, value) for name, value in sorted(key.at.items()))


def point_name(key: SeriesKey) -> str:
    """Metric and point."""
    at = at_text(key)
    return f"{key.title} at {at}" if at else key.title


def natural_order(history: History) -> list[int]:
    """All series, case by case as they came, lengths and other numbers in their natural order."""
    cases, metrics = (
        {name: number for number, name in enumerate(dict.fromkeys(names))}
        for names in (
            [key.case_id for key in history.series],
            [key.metric for key in history.series],
        )
    )

    def position(series: int) -> tuple[int, int, list[tuple[str, list[tuple[int, str]]]]]:
        key = history.series[series]
        at = [(name, natural(str(value))) for name, value in sorted(key.at.items())]
        return cases[key.case_id], metrics[key.metric], at

    return sorted(range(len(history.series)), key=position)


def value_text(
    key: SeriesKey | SeriesPart, value: float | None, unit_of: Sequence[float] = ()
) -> str:
    """ "1.200 ms"; `unit_of`: values whose readable unit is taken."""
    if value is None:
        return "no value"
    return units.quantity(value, units.readable_unit(key.unit, unit_of or [value]))


def compared(key: SeriesKey | SeriesPart, before: float, after: float) -> str:
    """ "8.1 % slower", "slower by a factor of 1.83"; "8.1 % worse" of what has no speed."""
    ratio = before / after if key.better == "lower" else after / before
    return units.slower_text(ratio, after / before - 1, key.unit)


def amount(key: SeriesKey | SeriesPart, before: float, after: float) -> str:
    """ "1.200 ms → 1.350 ms (12.5 % slower)"."""
    first, second = (value_text(key, value, (before, after)) for value in (before, after))
    return f"{first} → {second} ({compared(key, before, after)})"


def n_text(finding: NightFinding) -> str:
    """Number of nights, or other nodes, behind a reference."""
    return units.count_text(finding.n, "other node" if finding.of_peers else "night")


def nights_more(nights: int) -> str:
    """ "about 7 more nights are needed"."""
    return f"about {units.count_text(nights, 'more night is', 'more nights are')} needed"


def day_of(history: History, change: Change | ChangePart) -> str:
    """The date of a change's first night; of a step in the first nights that it was before."""
    since = change.since
    date = history.nights[history.position(since)].date if isinstance(since, int) else since
    return f"{'before ' if change.stage == 'early' else ''}{date[:10]}"


def state_of(history: History, change: Change) -> str:
    """Open, gone back, accepted by whom and why, or a lasting improvement."""
    if change.accepted:
        return f"accepted by {change.accepted.author}: {change.accepted.reason}"
    if change.closed is not None:
        return f"went back on {history.nights[history.position(change.closed)].date}"
    return "open" if change.open else "new reference"


def series_part(key: SeriesKey, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields of `SeriesPart`."""
    told = ("case_id", "check", "environment", "metric", "unit", "better")
    own = {name: getattr(key, name) for name in told}
    return {**own, "name": names[key.case_id], "point": point_name(key), "at": dict(key.at)}


def change_part(history: History, names: Mapping[str, str], change: Change) -> ChangePart:
    """A change in the form that people and programs read."""
    key, position = history.series[change.series], history.position(change.since)
    changed = context_changes(*history.nights[position - 1 : position + 1]) if position else ()
    accepted, state = change.accepted, "open" if change.open else "new reference"
    state = "went back" if change.closed is not None else state
    return ChangePart.filled(
        change,
        **series_part(key, names),
        since=history.nights[position].started_at,
        size=compared(key, change.before, change.after),
        causes=[
            f"{item.name}: {item.before or 'none'} → {item.after or 'none'}"
            for item in changed
            if concerns(item.name, key.environment)
        ],
        state="accepted" if accepted else state,
        author=accepted.author if accepted else None,
        reason=accepted.reason if accepted else None,
    )


def change_parts(history: History) -> list[ChangePart]:
    """All changes of a history."""
    names = case_names(history)
    return [change_part(history, names, change) for change in history.changes]


def finding_text(finding: NightFinding) -> str:
    """A finding in one line: how far from what, how a re-run was, since when."""
    head, change, reference = f"{finding.name}: {finding.point}", finding.change, finding.reference
    if finding.verdict == "silent":
        tonight = "no value" if finding.value is None else "zero"
        usual = f", usually {value_text(finding, reference)}" if (reference or 0) > 0 else ""
        return f"{head} {tonight}{usual} [n = {n_text(finding)}]"
    if change and (finding.value is None or finding.verdict in ("improvement", "open")):
        text = f"{head} {amount(finding, change.before, change.after)}"
        text += f", tonight {value_text(finding, finding.value)}"
    else:
        limit = units.percent(finding.limit)
        text = f"{head} {amount(finding, reference or 0, finding.value or 0)}, limit {limit}"
    for what, value in (("run again", finding.rerun), ("on other nodes", finding.elsewhere)):
        if value is not None and reference:
            text += f"; {what} {value_text(finding, value)} ({compared(finding, reference, value)})"
    if finding.slow_elsewhere is not None:
        slow = "slow there too" if finding.slow_elsewhere else "look at the nodes of the night"
        text += f": {slow}"
    text += f" [n = {n_text(finding)}]"
    if change is None:
        return text
    early = "at the latest " if change.stage == "early" else ""
    text += f", since {early}{moment(change.since)} ({change.stage})"
    text += f"; changed that night: {', '.join(change.causes[:3])}" if change.causes else ""
    return f"{text} [change {change.id}]" if change.id else text


def statuses_text(statuses: Mapping[str, int]) -> str:
    """ "1 failed, 9 ok"."""
    return ", ".join(f"{n} {word}" for word, n in sorted(statuses.items()))


def nights_text(history: History) -> str:
    """The last nights: date, run, launches by status, changes found."""
    found = Counter(change.found for change in history.changes)
    return "\n".join(
        f"  {night.date}  {night.run_id}  {statuses_text(night.statuses) or 'no launch'}"
        + (f"; {units.count_text(found[night.id], 'change')} found" if found[night.id] else "")
        for night in history.nights[-_MOST_NIGHTS:]
    )


def missed_text(missed: Sequence[Missed]) -> str:
    """The last nights that could not run, a line each; "" where there were none."""
    return "\n".join(
        f"  {one.date}  {one.campaign} on {one.site} could not run: {one_line(one.reason)}"
        for one in missed[-_MOST_NIGHTS:]
    )


def changes_text(history: History) -> str:
    """Every change with its state and what else changed that night."""
    lines = [
        f"  {part.id}: {part.kind} ({part.stage}) since {moment(part.since)}: {part.name}:"
        f" {part.point} {amount(part, part.before, part.after)}; {state_of(history, change)};"
        f" changed that night: {causes_text(part.causes)}"
        for part, change in zip(change_parts(history), history.changes, strict=True)
    ]
    return "\n".join(lines) or "  no change"


def history_form(
    groups: Sequence[tuple[str, str, int]], history: History | None, missed: Sequence[Missed]
) -> HistoryForm:
    """Contents of a history: site, campaign and nights of each group, and the nights of one."""
    nights, changes = (history.nights, history.changes) if history else ([], [])
    found = Counter(change.found for change in changes)
    return HistoryForm(
        groups=[GroupPart(campaign, site, nights) for site, campaign, nights in groups],
        site=nights[-1].site if nights else None,
        campaign=nights[-1].campaign if nights else None,
        nights=[
            NightPart.filled(night, launches=night.statuses, changes_found=found[night.id])
            for night in nights
        ],
        missed=[MissedPart.filled(item) for item in missed],
        changes=change_parts(history) if history else [],
    )
