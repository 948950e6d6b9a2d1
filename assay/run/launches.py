# SPDX-License-Identifier: Apache-2.0
"""Launches still to come, by the plan, its records and judgements; record and raw output of one
that has ended: what its session says of it, and files of its job in the archive of its block.

The session has judged values and clocks. A check's code may be wrong: a record is made of what it
says only if readers of the run can read it, and if it agrees with the launch that was asked for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from itertools import count, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import UNSET

from assay.plan.planner import block_order, launch_limit_s
from assay.sites.site import Site
from assay.terminal import Say
from checks.common.registry import checks_with
from checks.common.session.outcome import Launch, Outcome
from records.errors import AssayError, InfrastructureError
from records.files import replacing
from records.flags import RAW_CUT, RAW_LIMIT_BYTES
from records.input_files import RefusedFileError, opened
from records.run.archive import ArchiveWriter, Packed, archive_name, archives, is_closed
from records.run.interims import Interim, asked_blocks
from records.run.plan import MOST_BLOCKS, Plan, PlannedCase
from records.run.record import CASE_ID, CHECKSUM, Belonging, Record, as_read, latest_attempts
from records.run.record_lines import Entry, Ledger
from records.run.run_directory import RAW_SUFFIX, RunDirectory, launch_stem
from records.site.pair_scans import ARTIFACT, FOLDER, SUFFIX
from records.text.plain_text import masked, one_line

#: Launches of one ReFrame session, which keeps each test in memory until its end.
LAUNCHES_PER_SESSION = 2000
#: Characters of a reason; programs are quoted with a few hundred.
_REASON_LENGTH = 4000
#: What a record takes over from its launch, and from its outcome.
_OF_LAUNCH = ("case_id", "check", "environment", "params", "ranks", "block", "attempt")
_OF_OUTCOME = ("status", "started_at", "ended_at", "job_id", "nodes", "flags")
#: What a launch takes over from its case.
_OF_CASE = (
    *("check", "environment", "params", "ranks", "ranks_per_node", "nodes"),
    *("cpus_per_task", "resources"),
)
#: The values of 200 million pairs fit.
MOST_POINTS_BYTES = 1 << 32
#: Archives that are held open: at the end of a block launches of the next one may end first.
MOST_OPEN = 2
#: Bytes read at once, of which half of RAW_LIMIT_BYTES is a multiple.
_PIECE_BYTES = 1 << 20
#: Opens a file of a session.
_Open = Callable[[str], BufferedReader]


def launch_of(case: PlannedCase, **further: Any) -> Launch:
    """A launch of a planned case."""
    return Launch(case_id=case.id, **{name: getattr(case, name) for name in _OF_CASE}, **further)


def launches_to_come(
    plan: Plan,
    records: Iterable[Record | Entry],
    interims: Sequence[Interim] = (),
) -> Iterator[Launch]:
    """The launches still to be run, in the order of the seed; lost ones get a further attempt. In a
    sequential design they reach up to the next judgement, without what does not go on."""
    cases = {case.id: case for case in plan.cases if case.skipped is None}
    done, asked = latest_attempts(records, CASE_ID), asked_blocks(plan, interims)
    index, asks = count(), {case.id: case.asked for case in cases.values()}
    for block in range(1, max(asked.values(), default=0) + 1):
        for case_id in block_order(asks, plan.seed, block):
            case, before = cases[case_id], done.get((case_id, block))
            if block > asked[case.environment, case.check]:
                continue
            if before is not None and before.status != "lost":
                continue
            yield launch_of(
                case,
                index=next(index),
                block=block,
                attempt=before.attempt + 1 if before else 1,
                limit_s=launch_limit_s(plan, case),
                undisturbed=case.nodes > 1 if case.alone is None else case.alone,
            )


def in_sessions(coming: Sequence[Launch], mix_blocks: int) -> Iterator[list[Launch]]:
    """The launches of one session after the other: a mix each where `mix_blocks` are one, and no
    more than a session can have."""
    size = mix_blocks or MOST_BLOCKS
    for _, launches in groupby(coming, key=lambda one: (one.block - 1) // size):
        while batch := [*islice(launches, LAUNCHES_PER_SESSION)]:
            yield batch


class RecordMaker:
    """Makes the records of one run on one site."""

    def __init__(self, run: RunDirectory, site: Site) -> None:
        self._run_id, self._site, plan = run.run_id, site.name, run.plan()
        self._metrics, self._checks = plan.register.metrics, checks_with(plan.brought)
        self._belonging = Belonging(plan, run.run_id)

    def record(
        self,
        launch: Launch,
        outcome: Outcome,
        artifacts: Mapping[str, str] = {},
        programs: Mapping[str, str | None] = {},
    ) -> Record:
        """The record of a launch, which executed `programs`; of a case that is not launched with
        block 0."""
        assert outcome.status is not None
        reported = getattr(self._checks.get(launch.check), "metrics_by_name", {})
        known, same = attrgetter(*_OF_LAUNCH)(launch), attrgetter(*_OF_OUTCOME)(outcome)
        return Record(
            run_id=self._run_id,
            site=self._site,
            **dict(zip((*_OF_LAUNCH, *_OF_OUTCOME), (*known, *same), strict=True)),
            reason=reason_of(outcome.reason),
            # A run begun before a metric was defined goes on without it.
            metrics=[
                metric
                for metric in outcome.metrics
                if metric.name in self._metrics or metric.name not in reported
            ],
            artifacts=dict(artifacts),
            profile=UNSET if outcome.profile is None else outcome.profile,
            programs=dict(programs) or UNSET,
            submitted_at=outcome.submitted_at or UNSET,
        )

    def fault(self, launch: Launch, record: Record) -> str | None:
        """Fault of a launch's record, which names the record's member; None: there is none."""
        try:
            if fault := self._belonging.fault(as_read(record)):
                return fault
        except AssayError as error:
            return str(error)
        if record.status == "ok" and len({*record.nodes}) != launch.nodes:
            return f"`nodes` are {', '.join(record.nodes):.200}; the launch has {launch.nodes}"
        return None


class RawArchives:
    """The archives of a run, written by its one driver. Use as a context manager. Entering it ends
    those that a killed driver left open: what has no record is cut off."""

    def __init__(self, run: RunDirectory, ledger: Ledger, say: Say) -> None:
        self._run, self._ledger, self._say = run, ledger, say
        self._open: dict[int, ArchiveWriter] = {}

    def __enter__(self) -> RawArchives:
        for block, path in archives(self._run.raw).items():
            with opened(path) as file:
                closed = is_closed(file)
            if not closed:
                self._archive(block)
                self._close(block)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for block in list(self._open):
            with suppress(*[InfrastructureError] if kind else []):
                self._close(block)

    def keep(self, read: _Open, stem: str, block: int, outcome: Outcome) -> dict[str, str]:
        """Append a launch's files to its block's archive, on disk when this ends, and copy the
        values of a scan to points/STEM.parquet; gives the record's artifacts, with checksums.

        A file that is no regular file in the session's folder is refused. The outcome tells what is
        not kept; a launch is not `ok` without its raw output.
        """
        artifacts, packed, faults = dict[str, str](), list[Packed](), list[str]()
        for kind, path in outcome.files.items():
            try:
                with read(path) as source:
                    size = os.fstat(source.fileno()).st_size
                    if kind == ARTIFACT:
                        artifacts[kind], digest = self._copied(source, size, f"{stem}.{SUFFIX}")
                    else:
                        name, found = f"{stem}.{RAW_SUFFIX[kind]}", hashlib.sha256()
                        packed.append(Packed(name, _pieces(source, size, found.update)))
                        artifacts[kind] = f"raw/{archive_name(block)}/{name}"
                        digest = found.hexdigest()
                        if size > RAW_LIMIT_BYTES and RAW_CUT not in outcome.flags:
                            outcome.flags.append(RAW_CUT)
                artifacts[f"{kind}{CHECKSUM}"] = digest
            except FileNotFoundError:
                faults += [f"{kind} is missing"] * (outcome.status == "ok")
            except RefusedFileError as error:
                faults.append(f"{kind} {error}")
        if packed:
            archive = self._archive(block)
            with _kept(archive.path):
                archive.append(packed)
        if faults:
            refused = f"raw output refused: {'; '.join(faults)}"
            outcome.reason = f"{outcome.reason}; {refused}" if outcome.reason else refused
            outcome.status = "wrong" if outcome.status == "ok" else outcome.status
        return artifacts

    def _copied(self, source: BufferedReader, size: int, name: str) -> tuple[str, str]:
        """Copy the values of a scan to a file of this name; gives its path in the run, and its
        digest. Raises RefusedFileError for one that is too long."""
        target = self._run.points / name
        if size > MOST_POINTS_BYTES:
            raise RefusedFileError(f"has {size} bytes; allowed: {MOST_POINTS_BYTES}")
        with _kept(target):
            target.parent.mkdir(mode=0o700, exist_ok=True)
            with replacing(target, 0o600) as temporary, temporary.open("wb+") as file:
                shutil.copyfileobj(source, file)
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"{FOLDER}/{name}", digest

    def _archive(self, block: int) -> ArchiveWriter:
        """The archive of a block, open; of more than MOST_OPEN the one opened first is closed."""
        if block in self._open:
            return self._open[block]
        while len(self._open) >= MOST_OPEN:
            self._close(next(iter(self._open)))
        path, above = self._run.raw / archive_name(block), f"raw/{archive_name(block)}/"
        mine = [entry for entry in self._ledger.entries if entry.block == block]
        stems = {launch_stem(entry.case_id, block, entry.attempt) for entry in mine}
        outputs = (entry.output or "" for entry in mine)
        named = {name.removeprefix(above) for name in outputs if name.startswith(above)}
        with _kept(path):
            made = ArchiveWriter(path, lambda name: name.rpartition(".")[0] in stems, named)
        if made.cut:
            self._say(f"{path}: its last {made.cut} bytes, which no record names, were cut off")
        self._open[block] = made
        return made

    def _close(self, block: int) -> None:
        with _kept(self._run.raw / archive_name(block)):
            self._open.pop(block).close()


@contextmanager
def _kept(path: Path) -> Iterator[None]:
    """Errors of the file system as what they mean for the run."""
    try:
        yield
    except OSError as error:
        raise InfrastructureError(
            f"{path}: raw output could not be kept ({error.strerror}); make room, then resume"
        ) from error


def _pieces(
    source: BufferedReader, size: int, update: Callable[[bytes], object]
) -> Iterator[bytes]:
    """The file, as it is digested; of a long one its head, a line that counts what is left out, and
    its tail."""
    half, left = RAW_LIMIT_BYTES // 2, size
    while left > 0 and (piece := source.read(min(_PIECE_BYTES, left))):
        left -= len(piece)
        if size > RAW_LIMIT_BYTES and source.tell() == half:
            piece += f"\n[assay: {size - 2 * half} bytes are left out here]\n".encode()
            left = size - source.seek(size - half)
        update(piece)
        yield piece


def reason_of(reason: str | None) -> str | None:
    """A reason that a session gave in one line, without secrets."""
    return masked(one_line(reason))[:_REASON_LENGTH] if reason else None
