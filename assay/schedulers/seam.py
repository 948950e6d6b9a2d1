# SPDX-License-Identifier: Apache-2.0
"""Interface to a site's scheduler, which the engine knows by nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from assay.commands import Pause
from assay.terminal import Say
from checks.common.slurm.job import Allocation, Watch
from records.run.plan import PlannedCase
from records.run.provenance import SlurmAsRun


class Submitted(NamedTuple):
    """A job of one script.

    `end` waits and gives its id and last state; it raises AssayError for a job that can never
    start, InfrastructureError where the scheduler is silent. `cancel` ends it, if it has not ended.
    """

    end: Callable[[Pause], tuple[str, str]]
    cancel: Callable[[], None]


class Scheduler(ABC):
    """Scheduler of a `site` in use, by whose `ask` it is asked. A method raises InfrastructureError
    where the scheduler is silent.

    In sessions launches are run by ReFrame's scheduler `jobs`, a job each, or `steps`, as steps of
    an allocation, and by launcher `alone` where they have no MPI.
    """

    jobs: ClassVar[str]
    steps: ClassVar[str]
    alone: ClassVar[str]
    #: Said of an allocation, {job}, before its first launch.
    told: ClassVar[str]
    #: Environments that it cannot serve, of the names that campaigns use, and why.
    absent: ClassVar[Mapping[str, str]] = {}

    def __init__(self, site: Any) -> None:
        self.site = site

    @abstractmethod
    def require(self) -> None:
        """Raise UnreachableError unless it answers."""

    @abstractmethod
    def identity(self) -> str:
        """Name of its machine: builds of another one are not run."""

    @abstractmethod
    def facts(self) -> SlurmAsRun:
        """Its version, and settings that matter for measurements."""

    @abstractmethod
    def limits(self) -> tuple[int | None, int | None]:
        """Most nodes of a job, and its seconds; None: no limit."""

    @abstractmethod
    def nodes(self) -> list[str]:
        """Nodes of the partition, in service or not; none where that cannot be told."""

    @abstractmethod
    def lacking(self, nodes: int) -> str | None:
        """Why jobs of so many nodes will not start however long they wait; None: they may."""

    @abstractmethod
    def allocation(self, cases: Sequence[PlannedCase], seed: int, say: Say) -> Allocation | None:
        """The allocation whose steps launches of these cases are; None: each is a job."""

    @abstractmethod
    def end(self, run: str, own: Allocation | None, pause: Pause, clear_s: float) -> None:
        """End jobs of the run with this work folder, and its steps in the allocation `own`; wait,
        with pauses, until they are gone, `clear_s` seconds for their nodes to be clear."""

    def refusal(self) -> tuple[str, str]:
        """A job as launches ask for one, and why it would not be taken; "": it would."""
        return "launches", ""

    def submit(self, argv: Sequence[str], script: bytes, watch: Watch, pause: Pause) -> Submitted:
        """Submit a script with options for its shape and limit. Raises AssayError where it is
        refused for good. Not called where `allocation` gives one to every run."""
        raise NotImplementedError
