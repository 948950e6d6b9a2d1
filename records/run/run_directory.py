# SPDX-License-Identifier: Apache-2.0
"""The run directory: what a run was asked, what it did, and the raw output of every launch."""

import fcntl
import secrets
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from records.errors import AssayError, InfrastructureError
from records.files import replacing, taken, write_whole
from records.input_files import kind_at, opened
from records.run.chain import chain_of
from records.run.interims import INTERIMS, Interim, read_interims, read_plan
from records.run.plan import Plan
from records.run.provenance import Provenance, read_provenance
from records.run.record import Belonging, Record, read_records
from records.run.record_lines import Ledger
from records.site.pair_scans import FOLDER as POINTS

#: Where runs are kept, below the folder in which `assay` is called.
RESULTS = Path("results")

#: Ending of a raw file by its kind.
RAW_SUFFIX = {"script": "sh", "stdout": "out", "stderr": "err"}


def launch_stem(case_id: str, block: int, attempt: int) -> str:
    """Begin of the names of a launch's raw files."""
    return f"{case_id}.b{block}.a{attempt}"


class RunDirectory:
    """results/<campaign>/<run-id>/ and the names of its files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.campaign_file = path / "campaign.yaml"
        self.plan_file = path / "plan.json"
        self.provenance_file = path / "provenance.json"
        self.records_file = path / "records.jsonl"
        self.interims_file = path / INTERIMS
        self.raw = path / "raw"
        self.points = path / POINTS
        self.builds = path / "builds"

    @cached_property
    def run_id(self) -> str:
        """The id of the run, also of a copy of its directory under another name."""
        began = self.provenance().run_id if self.provenance_file.exists() else None
        return began or self.path.name

    def records(self) -> list[Record]:
        """All records so far, each one of the plan and of this run. Raises AssayError for others,
        for damage, and for a chain that is broken."""
        belonging = Belonging(self.plan(), self.provenance().run_id or "")
        chained = chain_of(self.path).records
        return list(read_records(self.records_file, belonging.fault)) if chained else []

    def ledger(self) -> Ledger:
        """Ledger of the records so far; raises AssayError as `records` does."""
        ledger = Ledger(self.path, self.plan(), self.provenance().run_id or "")
        ledger.catch_up()
        return ledger

    @cached_property
    def _plan(self) -> Plan:
        return read_plan(self.plan_file)

    def plan(self) -> Plan:
        """The plan as written when the run began, with the blocks added since; read once."""
        return self._plan

    def interims(self) -> list[Interim]:
        """The judgements of a sequential design so far."""
        return read_interims(self.interims_file, self.plan())

    def provenance(self) -> Provenance:
        """The provenance as written when the run began."""
        return read_provenance(self.provenance_file)

    def lock(self) -> int:
        """Make this process the run's one driver; held until it ends, however it ends. Raises
        AssayError when another process is, or when what a driver writes is a link or of another
        kind."""
        lock = self.path / ".lock"
        for file in (lock, self.records_file):
            refuse_other(file)
        for folder in (self.raw, self.points, self.builds):
            refuse_other(folder, folder=True)
        try:
            self.raw.mkdir(mode=0o700, exist_ok=True)
            self.raw.chmod(0o700)
            return taken(
                lock,
                f"{self.path} is being run by another process; wait for it, or see how far it is"
                f" with: assay status {self.path}",
            )
        except OSError as error:
            raise AssayError(
                f"{error.filename or lock}: cannot be opened ({error.strerror}); a run is resumed"
                " by its owner, or from a copy (cp -r)"
            ) from error

    def is_driven(self) -> bool:
        """Tell whether a driver is at this run now."""
        try:
            with opened(self.path / ".lock") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except (OSError, AssayError):
            return False
        return False

    def build_log(self, environment: str) -> Path:
        """Where the output of an environment's failed builds is."""
        return self.builds / f"{environment}.log"

    def keep_build_log(self, environment: str, text: str) -> Path:
        """Keep the output of an environment's failed builds, private to its owner."""
        file = self.build_log(environment)
        try:
            self.builds.mkdir(mode=0o700, exist_ok=True)
            with replacing(file, 0o600) as temporary:
                temporary.write_bytes(text.encode(errors="replace"))
        except OSError as error:
            raise InfrastructureError(
                f"{file}: the output of a build could not be kept ({error.strerror})"
            ) from error
        return file


def refuse_other(path: Path, *, folder: bool = False) -> None:
    """Raise AssayError if `path`, a file or folder of a run that is written to, is a link, or
    anything else."""
    kind = kind_at(path)
    if kind == "a symbolic link":
        raise AssayError(
            f"{path} is a link, and nothing is written through links; remove it, or put the file or"
            " folder itself in its place"
        )
    allowed = "a folder" if folder else "a file"
    if kind not in (None, allowed):
        raise AssayError(f"{path} is {kind}; allowed is {allowed}. Move it away, then try again.")


def create_run(campaign_text: str, plan: Plan) -> RunDirectory:
    """A fresh run directory with the campaign as asked and its plan."""
    path = RESULTS / plan.campaign / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    try:
        run = RunDirectory(path)
        path.mkdir(parents=True)
        run.raw.mkdir(mode=0o700)
        write_whole(run.campaign_file, campaign_text.encode())
        write_whole(run.plan_file, plan.to_json().encode())
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)
        raise InfrastructureError(
            f"{path}: the run directory could not be made ({error.strerror})"
        ) from error
    return run


def open_run(name: str) -> RunDirectory:
    """The run at path `name`, or the one below results/ whose id is `name` or alone begins so.
    Raises AssayError when there is none or it is no run directory."""
    path = Path(name)
    if not path.is_dir():
        begun = [match for match in RESULTS.glob("*/*") if name and match.name.startswith(name)]
        found = [match for match in begun if match.name == name] or begun
        if len(found) != 1:
            some = sorted(found)[:3] or [RESULTS / "quick" / "20260101T000000Z-1a2b", *_runs()][-1:]
            count = f"{len(found)} runs begin with" if found else "no run"
            told = f"{count} {name!r}: give the path of a run directory, e.g."
            raise AssayError(f"{told} {', '.join(map(str, some))}")
        path = found[0]
    for file in (path / "plan.json", path / "campaign.yaml"):
        if kind_at(file) is None:
            raise AssayError(f"{file} is missing: {path} is no run directory")
        opened(file).close()
    return RunDirectory(path)


def newest_runs() -> Iterator[RunDirectory]:
    """The runs below results/, the newest first."""
    return map(RunDirectory, reversed(_runs()))


def _runs() -> list[Path]:
    """The run directories below results/, the newest last."""
    return sorted((plan.parent for plan in RESULTS.glob("*/*/plan.json")), key=lambda run: run.name)
