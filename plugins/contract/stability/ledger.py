# SPDX-License-Identifier: Apache-2.0
"""The ledger of a stability phase: looks at a cluster, and the classes that people give outages.

looks.jsonl is append-only: first what is watched and promised, then a line a look with what has
changed since the one before. Each line carries the SHA-256 of the line before it, and seal.json
says how many there are (records.run.chain). Outages are not stored: they follow from the lines.
Times are seconds since 1970 by the clock of who wrote them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from plugins.contract.log import ChainedLog
from records.errors import AssayError
from records.forms import Part, key
from records.run.run_directory import RESULTS

#: Folders of stability phases, one a site.
PHASES, LEDGER = RESULTS / "stability", "looks.jsonl"
#: Who answers for an outage; `scheduled` is not counted against anybody.
Class = Literal["vendor", "site", "external", "scheduled", "unknown"]

_LIST: Any = msgspec.field(default_factory=list)
_DICT: Any = msgspec.field(default_factory=dict)
#: Why no job gets a node.
Out = Literal["", "down", "drained", "maintenance"]


class WatchTerms(Part, kw_only=True, omit_defaults=True, tag_field="what", tag="watch"):
    """Terms of a watch: what is watched and what is promised; the first line."""

    chain: Annotated[str, key("The SHA-256 of the line before.")] = ""
    at: Annotated[float, key("When it was written.")]
    site: Annotated[str, key("The site.")]
    every_s: Annotated[float, key("Time between looks, in contract time.")]
    length_s: Annotated[float, key("Length of the phase, in contract time.")]
    scale: Annotated[float, key("Contract time that passes in a second.")] = 1.0
    partitions: Annotated[list[str], key("Only nodes of these; empty: all nodes.")] = _LIST
    file_systems: Annotated[list[str], key("Folders that are written at each look.")] = _LIST
    availability: Annotated[float | None, key("Least availability that is promised.")] = None
    mtbi_s: Annotated[float | None, key("Least mean time between interrupts, s.")] = None
    mtti_s: Annotated[float | None, key("Least mean time between killed jobs, s.")] = None


class NodeState(Part, omit_defaults=True):
    """A node as Slurm describes it."""

    out: Annotated[Out, key("Why no job gets it; empty: jobs do.")] = ""
    state: Annotated[
        str, key("Slurm's state where it is out or not heard of; ABSENT: Slurm forgot it.")
    ] = ""
    reason: Annotated[str, key("Slurm's reason.")] = ""
    since: Annotated[float | None, key("The time of the reason.")] = None
    boot: Annotated[float | None, key("When its kernel started.")] = None
    daemon: Annotated[float | None, key("When its slurmd started.")] = None


class PartitionState(Part, omit_defaults=True):
    """A partition as Slurm describes it."""

    state: Annotated[str, key("Slurm's state: UP, DOWN, …")]
    nodes: Annotated[list[str], key("Its nodes.")]


class NodeEvent(Part, omit_defaults=True):
    """A time without service that Slurm's accounting, or a job, is the witness of."""

    node: Annotated[str, key("The node; empty: the controller.")]
    begin: Annotated[float, key("When it began.")]
    end: Annotated[float | None, key("When it ended; null: it lasts.")]
    out: Annotated[Out, key("Way in which jobs were kept off it.")]
    reason: Annotated[str, key("Slurm's reason.")] = ""


class BookedJob(Part, omit_defaults=True):
    """A job that a failure of the machine ended."""

    job: Annotated[str, key("Its id.")]
    begin: Annotated[float, key("When it started.")]
    end: Annotated[float, key("When it ended.")]
    nodes: Annotated[list[str], key("Its nodes.")]
    state: Annotated[str, key("NODE_FAIL.")]


class ClusterLook(Part, kw_only=True, omit_defaults=True, tag_field="what", tag="look"):
    """Look at the cluster."""

    chain: Annotated[str, key("The SHA-256 of the line before.")] = ""
    at: Annotated[float, key("The time by a clock that can be set.")]
    steady: Annotated[float, key("Seconds since the host started, by a clock that cannot be set.")]
    boot: Annotated[str, key("Name that tells this start of this host from all others.")]
    host: Annotated[str, key("Where the booker ran.")]
    fault: Annotated[str, key("Why the controller did not answer; empty: it did.")] = ""
    started: Annotated[float | None, key("When the controller started.")] = None
    accounting: Annotated[bool, key("True if accounting covers the time since the last look.")] = (
        False
    )
    nodes: Annotated[dict[str, NodeState], key("Nodes that changed.")] = _DICT
    partitions: Annotated[dict[str, PartitionState], key("Partitions that changed.")] = _DICT
    file_systems: Annotated[dict[str, str], key("Faults by folder.")] = _DICT
    events: Annotated[list[NodeEvent], key("Outages that accounting has anew.")] = _LIST
    jobs: Annotated[list[BookedJob], key("Jobs that ended by a failure since.")] = _LIST
    unseen: Annotated[list[str], key("Data hidden from this user, if no look said it before.")] = (
        _LIST
    )


class Classed(Part, kw_only=True, tag_field="what", tag="classed"):
    """A person says who answers for an outage; the last word counts, the others stay."""

    chain: Annotated[str, key("The SHA-256 of the line before.")] = ""
    at: Annotated[float, key("When.")]
    outage: Annotated[str, key("The outage.")]
    word: Annotated[Class, key("The class.")]
    by: Annotated[str, key("Who says so.")]
    reason: Annotated[str, key("Why.")]


Entry = WatchTerms | ClusterLook | Classed


class WatchFolder(ChainedLog[Entry]):
    """The folder of a stability phase."""

    BUSY = (
        "{path} is booked by another process; one booker is enough, and the ledger can be read"
        " meanwhile: assay contract watch"
    )
    UNWRITTEN = "the look is not booked, and the next one books what is known of the time"

    def __init__(self, path: Path) -> None:
        super().__init__(path, LEDGER, Entry)


def watch_of(entries: Sequence[Entry], folder: Path) -> WatchTerms:
    """Terms of the watch. Raises AssayError for an empty ledger."""
    if not entries or not isinstance(entries[0], WatchTerms):
        raise AssayError(
            f"{folder}: no look was booked; begin with: assay contract watch --site SITE --once"
            " --every 60s --for 30d"
        )
    return entries[0]
