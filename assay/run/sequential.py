# SPDX-License-Identifier: Apache-2.0
"""Sequential designs: judged in the run directory, and blocks added to a run that has ended: so
many, or as many as it takes until it is known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata

import msgspec

from assay.plan.planner import sequential_design
from assay.plan.times import interval
from assay.run.status import run_status
from assay.schema.model import Blocks
from assay.terminal import Say
from records.errors import AssayError, InfrastructureError
from records.run.interims import (
    Ended,
    Interim,
    add_extension,
    asked_blocks,
    has_ended,
    in_turn,
    write_interims,
)
from records.run.plan import MOST_BLOCKS, Extension, Plan
from records.run.record_lines import Entry, Ledger
from records.run.run_directory import RunDirectory, open_run
from reports.analysis.races import judge_after
from reports.load.loading import load_run
from reports.statistics.max_t import LEAST_BLOCKS


def judge(run: RunDirectory, entries: Sequence[Entry]) -> Interim | None:
    """Judge a run whose launches that are asked for are done, and keep the judgement with it;
    `entries` are those of all its records. None for a fixed design, and when the last judgement has
    ended the run. The same records give the same judgement, also after a driver was killed."""
    plan, interims = run.plan(), run.interims()
    if plan.sequential is None or has_ended(plan, interims):
        return None
    block = plan.sequential.interims[len(interims)]
    found = judge_after(load_run(run.path), block)
    ended = found.ended(last=block == plan.blocks)
    if ended is None:
        following = plan.sequential.interims[len(interims) + 1]
        ended = "node_hours" if too_dear(plan, entries, found.going, following) else None
    going = found.going if ended is None else {}
    made = Interim(block=block, open=found.open, going=going, ended=ended)
    write_interims(run.interims_file, [*interims, made])
    return made


def too_dear(
    plan: Plan, records: Sequence[Entry], going: Mapping[str, list[str]], following: int
) -> bool:
    """True where limits.node_hours does not suffice up to the block `following`, at what launches
    of what goes on took so far."""
    allowed = plan.limits.get("node_hours")
    if allowed is None:
        return False
    total = further = 0.0
    last = max((record.block for record in records), default=0)
    for record in records:
        if (times := interval(record.started_at, record.ended_at)) is not None:
            used = (times[1] - times[0]) * record.nodes / 3600
            total += used
            if record.check in going.get(record.environment, ()):
                further += used * (following - last) / max(1, last)
    return total + further > allowed


def extend(
    run: RunDirectory, ledger: Ledger, blocks: int | None, say: Say, *, until_decided: bool = False
) -> RunDirectory:
    """The run with `blocks` added; `until_decided`: at most so many, by default as many as it has,
    judged in between. The same run where none can decide more. The caller has its lock.

    What a sequential design no longer ran is run again only for what is open. Raises AssayError for
    a run that has not ended, that criteria have judged, or whose limits.node_hours do not suffice.
    """
    _refuse_unfit(run, ledger)
    asked = asked_blocks(run.plan(), run.interims())
    plan, after = run.plan(), max(asked.values())
    opened, going = _open(run, after)
    if not until_decided:
        for (name, check), block in asked.items():
            if block == after and check not in going.setdefault(name, []):
                going[name].append(check)
    elif not going:
        vain = f"no launch can answer what is open ({'; '.join(opened)})"
        why = vain if opened else "all that is asked is known"
        say(f"{why}: no block is added; --blocks N without --until adds N blocks all the same")
        return run
    looks = _looks(after, blocks, until_decided)
    if too_dear(plan, ledger.entries, going, looks[0]):
        raise AssayError(
            f"{run.path}: limits.node_hours = {plan.limits['node_hours']:g} does not suffice for"
            f" blocks {after + 1} to {looks[0]}; raise it in the campaign, and begin another run"
        )
    made = Extension(
        extended_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        after=after,
        planned=plan.blocks,
        interims=looks,
        going=going,
        records=ledger.chain.records,
        version=metadata.version("assay"),
    )
    _write(run, made, opened)
    say(made.told())
    return open_run(str(run.path))


def _refuse_unfit(run: RunDirectory, ledger: Ledger) -> None:
    """Raise AssayError for a run that no block can be added to."""
    status = run_status(run, ledger)
    if status.done < status.planned or not status.ended:
        raise AssayError(
            f"{run.path} has not ended, and blocks are added to a run that has: finish it with"
            f" `assay run --resume {run.path}`, then add blocks"
        )
    if (run.path / "acceptance").exists():
        raise AssayError(
            f"{run.path} has been judged by criteria, whose error does not allow for more blocks:"
            f" run again what is undecided with `assay accept {run.path} --rerun`"
        )
    if not status.planned:
        raise AssayError(f"{run.path}: every case is skipped, so that no block has a launch")


def _write(run: RunDirectory, made: Extension, opened: list[str]) -> None:
    """Keep the extension; of a fixed number of blocks also what was open at its end."""
    interims = run.interims()
    try:
        add_extension(run.path, made)
        if not interims or interims[-1].block < made.after:
            how: Ended = "blocks" if opened else "answered"
            ended = Interim(block=made.after, open=opened, going={}, ended=how)
            write_interims(run.interims_file, [*interims, ended])
    except OSError as error:
        raise InfrastructureError(
            f"{run.path}: blocks could not be added ({error.strerror}); nothing was run"
        ) from error


def _open(run: RunDirectory, after: int) -> tuple[list[str], dict[str, list[str]]]:
    """Open questions at the end of a run, at the error that was planned, and what goes on for
    them."""
    loaded = load_run(run.path)
    plan = msgspec.structs.replace(loaded.plan, sequential=in_turn(loaded.plan))
    before = tuple(interim for interim in loaded.interims if interim.block < after)
    found = judge_after(replace(loaded, plan=plan, interims=before), after, beyond=True)
    return found.open, found.going


def _looks(after: int, blocks: int | None, until_decided: bool) -> list[int]:
    """The blocks after which the extended run is judged. Raises AssayError for too many."""
    last = after + (blocks or max(after, LEAST_BLOCKS - after))
    if last > MOST_BLOCKS:
        raise AssayError(f"--blocks: {last} blocks; a run has at most {MOST_BLOCKS}")
    first = max(LEAST_BLOCKS, after + max(1, -(-after // 4)))
    if not until_decided or first >= last:
        return [last]
    return sequential_design(Blocks(least=first, greatest=last)).interims
