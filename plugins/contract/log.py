# SPDX-License-Identifier: Apache-2.0
"""A started contract on disk: its file as started, and the log of all that was done under it;
its course so far: attempts, waivers, signatures, what comes next.

The log is append-only: each line carries the SHA-256 of the line before, the first that of the
contract, and `seal.json` says how many there were (records.run.chain).
"""

import getpass
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

import msgspec

from plugins.contract.model import Contract, Stage
from records.errors import AssayError, InfrastructureError
from records.files import append_whole, held, write_whole
from records.forms import Part, key
from records.input_files import decoded, kind_at, whole_lines
from records.run.chain import Chain, chain_of, opened_to_append, write_seal
from records.run.run_directory import RESULTS, refuse_other
from reports.notation.units import moment_text

#: Where contracts are kept, below the folder in which `assay` is called.
CONTRACTS = RESULTS / "acceptance"
CONTRACT, LOG = "contract.yaml", "log.jsonl"
#: What was done: the contract was started; an attempt at a stage began, or ended; a criterion was
#: waived; somebody signed.
What = Literal["started", "begun", "ended", "waived", "signed"]
#: An entry of a log, a struct with `chain`.
E = TypeVar("E", bound=Any)


def _when(at: str) -> str:
    return moment_text(at, "")


class LogEntry(Part, kw_only=True, omit_defaults=True):
    """A line of the log."""

    at: Annotated[str, key("When (UTC).", "when (UTC)", _when)]
    user: Annotated[str, key("The account that did it.", "account")]
    what: Annotated[What, key("started, begun, ended, waived, signed.", "what")]
    stage: Annotated[str, key("The stage; empty: the whole contract.", "stage")] = ""
    attempt: Annotated[
        int, key("The attempt at the stage, from 1.", "attempt", lambda number: str(number or ""))
    ] = 0
    run: Annotated[str, key("Its run directory, from the contract's folder.")] = ""
    site: Annotated[str, key("The site.")] = ""
    file: Annotated[str, key("The file that the contract was read from.")] = ""
    verdict: Annotated[str, key("Verdict that was judged, or that was signed.", "verdict")] = ""
    seal: Annotated[str, key("The SHA-256 of the judgement, or of what was signed.")] = ""
    criterion: Annotated[str, key("The criterion that is waived.", "criterion")] = ""
    subject: Annotated[
        str,
        key("The node or pair; empty: all of it.", "for", lambda name: name or "all of it"),
    ] = ""
    until: Annotated[str, key("The last day of a waiver.", "until")] = ""
    by: Annotated[str, key("Who waives or signs.", "by")] = ""
    role: Annotated[str, key("For which party.", "for")] = ""
    reason: Annotated[str, key("Why.", "why")] = ""
    chain: Annotated[str, key("The SHA-256 of the line before.")] = ""


class ChainedLog(Generic[E]):
    """A folder with a log of structs with `chain`, append-only along a chain of hashes that begins
    with the files `names`."""

    BUSY = "{path} is used by another process"
    UNWRITTEN = "make room, then repeat"

    def __init__(self, path: Path, log: str, entry: Any, names: Sequence[str] = ()) -> None:
        self.path, self.log, self._names = path, path / log, names
        self._decode = msgspec.json.Decoder(entry).decode

    @property
    def chain(self) -> Chain:
        """The chain of the log. Raises AssayError where a line or a file was changed, or is
        missing."""
        return chain_of(self.path, self.log.name, self._names)

    def entries(self) -> list[E]:
        """All lines but a torn last one. Raises AssayError where one was changed or is missing."""
        _ = self.chain
        lines = whole_lines(self.log) if kind_at(self.log) else ()
        return [decoded(self._decode, line, where, "an entry") for where, line in lines]

    def add(self, entry: E) -> E:
        """Add a line and seal the folder: on disk when this returns; waits while another process
        adds one. What a killed writer left of a line goes. Raises InfrastructureError where it
        cannot be written; the log is then as it was."""
        refuse_other(self.log)
        try:
            with held(self.path / ".append"):
                chain = self.chain
                entry.chain = chain.due
                line = msgspec.json.encode(entry)
                descriptor = opened_to_append(self.log)
                try:
                    append_whole(descriptor, line + b"\n")
                finally:
                    os.close(descriptor)
                chain.follow([line], [entry.chain])
                write_seal(self.path, chain)
        except OSError as error:
            why = f"{self.log}: cannot be written ({error.strerror})"
            raise InfrastructureError(f"{why}; {self.UNWRITTEN}") from error
        return entry

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the one process that changes the folder. Raises AssayError where another does."""
        with held(self.path / ".lock", self.BUSY.format(path=self.path)):
            yield


class ContractFolder(ChainedLog[LogEntry]):
    """results/acceptance/NAME-DATE/ of a started contract; its log begins with every YAML file."""

    BUSY = (
        "{path} is used by another process; wait for it, or see how far it is with: assay contract"
        " status"
    )

    def __init__(self, path: Path) -> None:
        names = sorted(one.name for one in path.glob("*.yaml"))
        super().__init__(path, LOG, LogEntry, names)
        self.file = path / CONTRACT

    def append(self, what: What, **more: Any) -> LogEntry:
        """Add a line to the log, on disk when this returns."""
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return self.add(LogEntry(at=at, user=getpass.getuser(), what=what, **more))


def create_contract(name: str, texts: Mapping[str, str]) -> ContractFolder:
    """The folder of a contract that starts now, with the texts of its files."""
    now = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    path = CONTRACTS / f"{name}-{now}"
    try:
        path.mkdir(parents=True)
        for file, text in texts.items():
            write_whole(path / file, text.encode())
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be made ({error.strerror})") from error
    return ContractFolder(path)


def open_contract(name: str | None) -> ContractFolder:
    """The contract at path `name`, the one below results/acceptance/ that alone begins so, or the
    one started last. Raises AssayError where there is none."""
    found = sorted(
        (path.parent for path in CONTRACTS.glob(f"*/{CONTRACT}")),
        key=lambda path: path.name.split("-")[-2:],
    )
    if name is not None and kind_at(Path(name) / CONTRACT):
        return ContractFolder(Path(name))
    if name is not None:
        found = [path for path in found if path.name.startswith(name)]
        if len(found) > 1:
            raise AssayError(f"{len(found)} contracts begin with {name!r}: {found[0]}, {found[-1]}")
    if not found:
        what = "no contract was started" if name is None else f"no contract {name!r}"
        raise AssayError(
            f"{what} below {CONTRACTS}/; start one with: assay contract start CONTRACT"
        )
    return ContractFolder(found[-1])


#: A stage without a verdict is NOT RUN.
ContractVerdict = Literal["PASS", "NOT RUN", "INCONCLUSIVE", "SUSPECT", "FAIL"]
#: From best to worst.
_ORDER: tuple[ContractVerdict, ...] = get_args(ContractVerdict)


@dataclass(frozen=True)
class StageAttempt:
    """An attempt at a stage.

    `runs`: its run directory and those of re-runs, `ledger`: the folder of its looks, of a period;
    both from the contract's folder. `verdict` is "" while it is under way. A later judgement, with
    waivers, gives another verdict and seal.
    """

    number: int
    began: str
    runs: tuple[str, ...] = ()
    ledger: str = ""
    ended: str = ""
    verdict: str = ""
    seal: str = ""


@dataclass(frozen=True)
class ContractCourse:
    """A contract and its log."""

    contract: Contract
    entries: Sequence[LogEntry]

    @property
    def site(self) -> str:
        """The site that the contract was started on."""
        return self.entries[0].site if self.entries else ""

    @property
    def file(self) -> str:
        """The file that the contract was read from."""
        return self.entries[0].file if self.entries else ""

    def attempts(self, stage: str) -> list[StageAttempt]:
        """The attempts at a stage, the latest last."""
        found: dict[int, StageAttempt] = {}
        for one in self.entries:
            if one.stage != stage:
                continue
            if one.what == "begun":
                began = found.get(one.attempt, StageAttempt(one.attempt, one.at))
                more = (one.run,) if one.run else ()
                ledger = one.file or began.ledger
                found[one.attempt] = replace(began, runs=(*began.runs, *more), ledger=ledger)
            elif one.what == "ended":
                began = found[one.attempt]
                ended = began.ended or one.at
                found[one.attempt] = replace(began, ended=ended, verdict=one.verdict, seal=one.seal)
        return [*found.values()]

    def verdict_of(self, stage: str) -> ContractVerdict:
        """The verdict of a stage's latest attempt, its waivers included."""
        attempts = self.attempts(stage)
        found = attempts[-1].verdict if attempts else ""
        return next((word for word in _ORDER if word == found), "NOT RUN")

    def waivers(self, stage: str) -> list[LogEntry]:
        """The waivers of a stage."""
        return [one for one in self.entries if (one.what, one.stage) == ("waived", stage)]

    @property
    def signatures(self) -> list[LogEntry]:
        """Who signed what, the latest last."""
        return [one for one in self.entries if one.what == "signed"]

    @property
    def verdict(self) -> ContractVerdict:
        """The worst of the stages' verdicts."""
        found = [self.verdict_of(stage.name) for stage in self.contract.stages]
        return max(found, key=_ORDER.index)

    @property
    def next_stage(self) -> Stage | None:
        """The stage that is under way, or the first that has not run."""
        return next((s for s in self.contract.stages if self.verdict_of(s.name) == "NOT RUN"), None)
