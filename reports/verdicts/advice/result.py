# SPDX-License-Identifier: Apache-2.0
"""An advice as a result: one sentence, a bar an environment, what decides, what to run."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reports.answers import Answer, State, fitting, listed
from reports.commands import NOTHING, NextCommand, plan_campaign
from reports.notation.labels import shortened
from reports.notation.palette import INK, Look
from reports.notation.units import (
    about_bytes_text,
    count_text,
    counts_text,
    percent,
    readable_unit,
    significant,
)
from reports.notation.values import about, between
from reports.result import EVERYWHERE, ON_TERMINAL, Block, Facts, Result, Section, Sentence
from reports.show.lines import counted_footer
from reports.show.panel import Axis, Bars, Mark, Panel, Picture, Series, rows_axis
from reports.show.rows import name_cell
from reports.show.tables import Cell, Heading, Table, numeric, pivot
from reports.verdicts.advice.advise import FIRST_BLOCKS, Advice
from reports.verdicts.advice.demand import OPERATIONS
from reports.verdicts.advice.outcome import (
    AdviceForm,
    AdvisedPart,
    ConfirmPart,
    DecidingPart,
    LikelyPart,
)

#: How the program itself is run, where no curve helps.
_BY_COMMAND = "a campaign has it as a case by `command:` (docs/your-benchmark.md)"
#: Characters of the longest bar on a terminal.
_BAR = 16
_METHOD = (
    "Time = computing + wait + Σ calls × the time of a call by the run's curves, of a mean rank."
    " What the curves give for the profile's own environment is held against the profile: what"
    " its calls take longer is added in every environment; where they are faster, the factor is"
    " taken over. Intervals are of 90 % and hold the curves' blocks, one launch of the profile, and"
    " the error of what is taken over. Computing and wait are those of the profile everywhere."
)


def advice_result(advice: Advice, confirm: ConfirmPart | None) -> Result[AdviceForm]:
    """The advice as a result; `confirm` is its own, with its cost where it is known."""
    run, asked, refused = advice.analysis.run, advice.asked, advice.refused
    profile = advice.source
    command = NOTHING
    if confirm:
        options = {
            "environments": ",".join(confirm.environments),
            "checks": ",".join(confirm.checks),
        }
        command = plan_campaign(run, confirm.campaign, blocks=confirm.blocks, **options)
        confirm = msgspec.structs.replace(confirm, command=command)
    form = AdviceForm.filled(
        asked,
        run_id=run.run_id,
        campaign=run.plan.campaign,
        site=run.plan.site,
        command=profile.command,
        profiled_in=advice.profiled_in,
        sizes=advice.sizes,
        overlap_s=advice.overlap_s,
        mpi_s=advice.profile.mpi_s,
        explained=advice.explained,
        refused=refused,
        environments=[] if refused else advice.advised,
        left_out=advice.left_out,
        deciding=[] if refused else advice.deciding,
        beyond=[] if refused else [*_beyond(advice)],
        notes=[*profile.notes, *_notes(advice)],
        confirm=confirm,
    )
    answer = _answer(form, command, profile.wall_s or profile.elapsed_s.greatest)
    form.answer = answer.part
    return _result(advice, form, answer)


def _result(advice: Advice, form: AdviceForm, answer: Answer) -> Result[AdviceForm]:
    run, asked = advice.analysis.run, advice.asked
    name = shortened(" ".join(form.command) or "the application", 60)
    on = f"{count_text(asked.ranks, 'rank')} on {count_text(asked.nodes, 'node')}"
    longer = f", messages {significant(advice.sizes)} times as long" if advice.sizes != 1 else ""
    return Result(
        kicker=f"{name}: {on}{longer}; curves of {run.plan.campaign} on {run.plan.site},"
        f" run {run.run_id}",
        title=f"Which environment for {name}?",
        data=form,
        answer=answer,
        sections=[
            Section(
                "environments",
                "Predicted time",
                lambda: [] if form.refused else [_picture(advice, form), _table(form)],
            ),
            Section("bars", "", lambda: [_table(form, bars=True)], shown_on=ON_TERMINAL),
            Section("deciding", "What decides", lambda: [_deciding(form)], shown_on=EVERYWHERE),
            Section("profile", "The profile", lambda: _profile(form), shown_on=EVERYWHERE),
            Section("known", "What else to know", lambda: _known(form), shown_on=EVERYWHERE),
            Section("method", "How it is computed", lambda: [Sentence(_METHOD)]),
        ],
        looks=advice.analysis.looks,
        devices=run.provenance.devices,
    )


def _answer(form: AdviceForm, command: NextCommand, launch_s: float) -> Answer:
    """The one sentence; `launch_s` is the time of the program."""
    if form.refused:
        minutes = _minutes(2 * FIRST_BLOCKS * launch_s)
        to_do = f"run it {FIRST_BLOCKS} times in each of two environments ({minutes})"
        unknown = "its time elsewhere; " + _BY_COMMAND
        if form.confirm:
            to_do, unknown = f"run {_cases(form.confirm)}", ""
        sentence = f"It cannot be told from the profile; {to_do}."
        return Answer(State.OPEN, sentence, unknown, command, details=tuple(form.refused))
    first, rest = form.environments[0], form.environments[1:]
    ties = [one for one in rest if first.environment in one.tied_with]
    slower = [one for one in rest if one not in ties]
    names = [one.environment for one in ties]
    mutual = all(len({*names} - {*one.tied_with}) == 1 for one in ties)
    alike = (
        f"{listed([first.environment, *names])} cannot be told apart"
        if mutual
        else f"{first.environment} cannot be told apart from {listed(names)}"
    )
    more = f"which is faster; run {_cases(form.confirm)}" if form.confirm else ""
    if not slower:
        low, high = min(one.ratio.low for one in ties), max(one.ratio.high for one in ties)
        ends = between(low, high, significant)
        take = "the others take" if names[1:] else f"{names[0]} takes"
        sentence = fitting(f"{alike}: {take} {ends} times as long as {first.environment}.")
        return Answer(State.OPEN, sentence, more, command)
    least = slower[0]
    behind = f"{least.environment} takes {_ratio(least.ratio)} times as long"
    if not ties:
        return Answer(State.DECIDED, fitting(f"{first.environment} is the fastest; {behind}."))
    return Answer(State.DECIDED, fitting(f"{alike}; {behind}."), more, command)


def _cases(confirm: ConfirmPart) -> str:
    """ "these 2 cases (4 min)"."""
    cases = count_text(confirm.cases, "case") if confirm.cases else "cases"
    minutes = f" ({_minutes(confirm.time_s)})" if confirm.time_s else ""
    return f"{'this' if confirm.cases == 1 else 'these'} {cases}{minutes}"


def _minutes(time_s: float) -> str:
    return f"{max(1, round(time_s / 60))} min"


def _ratio(part: LikelyPart) -> str:
    """ "1.41 (1.33 … 1.49)", of a wide interval "1.26 … 1.59"."""
    ends = between(part.low, part.high, significant)
    return f"{significant(part.value)} ({ends})" if part.stated else ends


def _beyond(advice: Advice) -> Iterator[str]:
    """What is extrapolated, with the widest interval that comes of it."""
    texts = dict.fromkeys(text for one in advice.predicted for text in one.beyond)
    if texts:
        widest = max(
            (one.communication_s for one in advice.advised), key=lambda part: part.high / part.low
        )
        ends = between(widest.low, widest.high, lambda value: about(value, "s"))
        yield from (f"not measured: {text}; communication takes {ends}" for text in texts)


def _notes(advice: Advice) -> Iterator[str]:
    if not advice.profiled_in:
        yield (
            "the profile is of no environment of the run: the curves were not held against it;"
            " --environment NAME says which it is"
        )
    elif not advice.refused and (
        lost := {one.family for one in advice.profile.demands}
        - {one.family for one in advice.explained}
    ):
        yield (
            f"the run has no curves of {advice.profiled_in} for the profile's"
            f" {listed(sorted(lost))}: theirs were not held against it"
        )
    if not advice.source.sampled_share > 0:
        yield "no call's wait was measured: all time in MPI counts as transfer"
    crowded = [one.environment for one in advice.predicted if one.crowded]
    if crowded and not advice.refused:
        yield f"ranks shared cores where the curves of {listed(crowded)} were measured"
    if advice.sizes != 1 or advice.asked is not advice.profile:
        yield "computing, wait and the number of calls are those of the profile"


def _table(form: AdviceForm, *, bars: bool = False) -> Table | None:
    """An environment a row: its place, a bar where there are no pictures, times and ratios."""
    every = form.environments
    if not every:
        return None
    unit = readable_unit("s", [one.time_s.value for one in every])
    greatest = max(one.time_s.high for one in every)

    def in_unit(part: LikelyPart) -> str:
        ends = between(part.low, part.high, lambda value: significant(value / unit.factor))
        return f"{significant(part.value / unit.factor)} ({ends})"

    def bar(one: AdvisedPart) -> str:
        low, centre, high = (
            round(_BAR * value / greatest)
            for value in (one.time_s.low, one.time_s.value, one.time_s.high)
        )
        whole = "█" * low + "▓" * (centre - low) + "░" * (high - centre)
        return whole.ljust(_BAR)

    def cells(one: AdvisedPart) -> list[Cell | str]:
        ratio = "1" if one is every[0] else _ratio(one.ratio)
        row: list[Cell | str] = [str(one.place), name_cell(one.environment, [])]
        row += [bar(one)] if bars else []
        row += [in_unit(one.time_s), ratio]
        return row if bars else [*row, in_unit(one.communication_s), ", ".join(one.tied_with)]

    columns: list[Heading] = ["", "environment", *([""] if bars else [])]
    columns += numeric(f"time / {unit.label} (90 %)", "ratio")
    columns += [] if bars else [*numeric(f"in MPI / {unit.label}"), "tied with"]
    note = "█ to the lower end of the interval, ▓ to the value, ░ to its upper end" if bars else ""
    return pivot(every, [(columns, cells)], anchor="table-environments", title="", note=note)


def _picture(advice: Advice, form: AdviceForm) -> Picture:
    """A bar an environment: computing and wait, communication, the interval of the whole."""
    every = form.environments
    unit = readable_unit("s", [one.time_s.value for one in every])
    marks: list[Mark] = []
    for row, one in enumerate(every):
        look = advice.analysis.looks[one.environment]
        whole, messages = one.time_s.value / unit.factor, one.communication_s.value / unit.factor
        marks.append(Bars([row], [whole - messages], 0.5, "#d0d0d0", level=True))
        marks.append(Bars([row], [messages], 0.5, look.colour, whole - messages, level=True))
        ends = [one.time_s.low / unit.factor, one.time_s.high / unit.factor]
        marks.append(Series(ends, [row, row], Look(INK, "|", ()), width=1.2, size=7))
    alt = "; ".join(
        f"{one.environment} {about(one.time_s.value, 's')}"
        f" ({between(one.time_s.low, one.time_s.high, lambda value: about(value, 's'))})"
        for one in every
    )
    title = f"Predicted time on {counts_text([form.ranks], 'rank')}"
    panel = Panel(
        "",
        marks,
        f"{title}: {alt}",
        Axis(f"{unit.label}, smaller is better", low=0.0),
        rows_axis([f"{one.environment} ({one.place})" for one in every]),
        counted_footer(advice.analysis, [advice.analysis.run.plan.blocks]),
        1.25 + 0.38 * len(every),
        wide=True,
    )
    caption = "Grey: computing and wait; coloured: communication; line: 90 % interval of the whole."
    return Picture("wide-advice", title, caption, [panel], [])


def _deciding(form: AdviceForm) -> Table | None:
    """What makes the difference, a row a kind of call."""
    if not form.deciding:
        return None
    names = [one.environment for one in form.environments]
    unit = readable_unit("s", [t for one in form.deciding for t in one.time_s.values()])

    def cells(one: DecidingPart) -> list[Cell | str]:
        ranks = f", {count_text(one.ranks, 'rank')}" if one.call in OPERATIONS else ""
        times = [significant(one.time_s[name] / unit.factor) for name in names]
        return [
            f"{one.call}{ranks}{' in a node' * one.within_node}",
            about_bytes_text(one.message_bytes),
            significant(one.count),
            percent(one.share, 0),
            *times,
        ]

    columns = ["call", *numeric("message", "calls a rank", "share")]
    columns += numeric(*(f"{name} / {unit.label}" for name in names))
    return pivot(form.deciding, [(columns, cells)], anchor="table-deciding", title="")


def _profile(form: AdviceForm) -> Iterator[Block]:
    """What the profile has, and how far the curves explain it."""
    pairs = [
        ("computing", about(form.compute_s, "s")),
        ("in MPI", f"{about(form.mpi_s, 's')}, of it wait {about(form.wait_s, 's')}"),
        ("behind computing", f"{about(form.overlap_s, 's')} at most"),
    ]
    for one in form.explained:
        if one.measured_s > 0:
            share = percent(one.curves_s / one.measured_s, 0)
            text = f"{about(one.measured_s, 's')}; the curves of {form.profiled_in} give {share}"
            pairs.append((one.family, text))
    yield Facts(pairs)


def _known(form: AdviceForm) -> Iterator[Block]:
    lost = (f"{one.environment}: {'; '.join(one.why[:3])}" for one in form.left_out)
    yield from map(Sentence, [*form.beyond, *form.notes, *([] if form.refused else lost)])
