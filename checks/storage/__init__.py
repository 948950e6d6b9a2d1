# SPDX-License-Identifier: Apache-2.0
"""Storage: files of each rank and a shared one, and many small files; every byte is verified."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, Literal, get_args

from annotated_types import Len
from pydantic import AfterValidator, Field

from checks.common.answer import Asked, Reading
from checks.common.definition import Layout, SiteCapacity
from checks.common.json_lines import Output
from checks.common.messages import ManyRanksDefinition
from checks.common.metrics import rate_metric
from checks.common.parameters import (
    EachOnce,
    Parameters,
    Ranks,
    RanksPerNode,
    Repeats,
    Seed,
    quantity,
)
from records.metric import Metric

Files = Literal["own", "shared"]
Access = Literal["sequential", "random"]
LAYOUTS: tuple[Files, ...] = get_args(Files)
ACCESSES: tuple[Access, ...] = get_args(Access)

#: O_DIRECT moves whole blocks.
BLOCK_BYTES = 4096
TRANSFER_RATES = ("storage_write_rate", "storage_read_rate")
SMALL_RATES = (
    "storage_create_rate",
    "storage_stat_rate",
    "storage_small_read_rate",
    "storage_remove_rate",
)
NODE_RATES = ("storage_node_write_rate", "storage_node_read_rate")
#: For estimates until launches were timed: a disk, and files a second with fsync.
_DISK_BYTES_PER_S, _FILES_PER_S = 5e7, 200.0
_NAME = "^[a-z0-9][a-z0-9-]*$"
_BY_ANOTHER_NODE = "a rank of another node than wrote it"


def _ascending_blocks(sizes: list[int]) -> list[int]:
    odd = next((size for size in sizes if size % BLOCK_BYTES), None)
    if odd is not None:
        raise ValueError(f"{odd} is no multiple of {BLOCK_BYTES}, as O_DIRECT requires")
    if len({*sizes}) < len(sizes):
        raise ValueError("a length is listed twice; list each once")
    return sorted(sizes)


Lengths = Annotated[
    list[Annotated[int, Field(ge=BLOCK_BYTES, le=2**30)]],
    Len(1, 100),
    AfterValidator(_ascending_blocks),
]


class StorageParameters(Parameters):
    """Parameters of a launch on a target that the site declares under `storage`."""

    ranks: Ranks = quantity("Ranks that write and read.", "ranks")
    ranks_per_node: RanksPerNode = 1
    target: str = quantity(
        "Name of a folder that the site declares in `storage`.",
        "none",
        pattern=_NAME,
    )
    layouts: Annotated[list[Files], EachOnce(LAYOUTS, "layout")] = quantity(
        "A file of each rank's own, one file shared by all, or both.", "none", list(LAYOUTS)
    )
    accesses: Annotated[list[Access], EachOnce(ACCESSES, "access")] = quantity(
        "Transfers in order of their places, in random order, or both.", "none", list(ACCESSES)
    )
    sizes: Lengths = quantity(
        "Bytes of a transfer, multiples of 4096.", "bytes", [2**12, 2**16, 2**20, 2**24]
    )
    part_bytes: int = quantity(
        "Most bytes that a rank writes at a point; above a node's memory over its ranks nothing is"
        " answered by a cache.",
        "bytes",
        2**26,
        ge=BLOCK_BYTES,
        le=10**15,
    )
    transfers: Repeats = quantity("Most transfers of a rank at a point.", "transfers", 1024)
    files: int = quantity("Small files of each rank; 0: none.", "files", 256, ge=0, le=10**7)
    caches: Literal["direct", "dropped"] = quantity(
        "How pages in memory are avoided: O_DIRECT, where the file system takes it, or"
        " posix_fadvise(POSIX_FADV_DONTNEED).",
        "none",
        "direct",
    )
    repetitions: int = quantity("Samples of each quantity.", "samples", 3, ge=1, le=10_000)
    seed: Seed = quantity("Seed of content and orders.", "none", 1)

    def part(self, size: int) -> int:
        """Bytes that a rank writes at a point, in transfers of `size` bytes."""
        return size * max(1, min(self.part_bytes // size, self.transfers))


class StorageDefinition(ManyRanksDefinition[StorageParameters]):
    """Layout and cost of the storage program."""

    name = "storage"
    title = "Storage"
    deciding = "storage_write_rate"
    shown = "storage_write_rate"
    history_metrics = ("storage_read_rate", "storage_create_rate")
    parameters = StorageParameters
    example = {"ranks": 2, "target": "disk", "sizes": [4096, 1048576], "files": 16}
    metrics = (
        rate_metric(
            "storage_write_rate",
            "bytes of all ranks over the time of the slowest: open, write, fsync, close",
            "write rate",
        ),
        rate_metric(
            "storage_read_rate",
            "bytes of all ranks over the time of the slowest: open, read, compare, close; each"
            " reads what another node wrote",
            "read rate",
        ),
        rate_metric(
            "storage_create_rate",
            "files of 3901 bytes created, written and synchronised one by one, each rank in its own"
            " folder",
            "files created",
            "1/s",
        ),
        rate_metric("storage_stat_rate", "their sizes read by another rank", "stat calls", "1/s"),
        rate_metric(
            "storage_small_read_rate", "opened, read and compared by it", "files read", "1/s"
        ),
        rate_metric(
            "storage_remove_rate",
            "removed by it, the folder then synchronised",
            "files removed",
            "1/s",
        ),
        rate_metric(
            "storage_node_write_rate",
            "bytes of a node's ranks over the time of its slowest, all points together",
            "write rate of a node",
        ),
        rate_metric(
            "storage_node_read_rate",
            "bytes of a node's ranks over the time of its slowest, all points together",
            "read rate of a node",
        ),
    )
    waits = True
    points = ("layout", "access", "transfer_bytes", "node")
    noted = {"payload_verified": str, "caches": str, "read_by": str}

    def features_of(self, params: StorageParameters) -> frozenset[str]:
        """The site declares the target."""
        return self.features | {f"storage:{params.target}"}

    def expected(self, params: StorageParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """Rates at every point, of small files, and of every node."""
        places = product(params.layouts, params.accesses, params.sizes)
        for layout, access, size in places:
            at = {"layout": layout, "access": access, "transfer_bytes": size}
            yield from (Asked(name, at, params.repetitions) for name in TRANSFER_RATES)
        if params.files:
            yield from (Asked(name, {}, params.repetitions) for name in SMALL_RATES)
        for node in dict.fromkeys(hosts):
            yield from (Asked(name, {"node": node}) for name in NODE_RATES)

    def check_values(self, params: StorageParameters, output: Output) -> Reading:
        """Require that files which all nodes see were read by another node than wrote them."""
        settings: Mapping[str, Any] = (output.program or {})["settings"]
        read_by, nodes = output.notes["read_by"], len({*output.hosts()})
        if nodes > 1 and settings.get("local") is not True and read_by != _BY_ANOTHER_NODE:
            return Reading(wrong=f"files were read by {read_by!r:.80}; right is {_BY_ANOTHER_NODE}")
        return Reading(output.metrics)

    def durations_s(self, params: StorageParameters, metrics: Sequence[Metric]) -> Iterable[float]:
        """The samples of each point."""
        for metric in metrics:
            if metric.samples and metric.at:
                part = params.ranks * params.part(metric.at["transfer_bytes"])
                yield sum(part / sample for sample in metric.samples)

    def bytes_stored(self, params: StorageParameters) -> int:
        """The files of the largest point, or all small ones, a block each."""
        parts = (params.part(size) for size in params.sizes)
        return params.ranks * max(*parts, params.files * BLOCK_BYTES)

    def bytes_per_rank(self, params: StorageParameters) -> int:
        """A pattern to write from, one to compare with, and what was read."""
        return 3 * (max(params.sizes) + 64 * BLOCK_BYTES)

    def estimate_s(self, params: StorageParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + all bytes there and back at 50 MB/s, and 200 files a second."""
        points = len(params.layouts) * len(params.accesses)
        parts = points * params.ranks * sum(map(params.part, params.sizes))
        files = params.ranks * params.files
        once = 2 * parts / _DISK_BYTES_PER_S + 2 * files / _FILES_PER_S
        return site.launch_overhead_s + params.repetitions * once


CHECK = StorageDefinition()
