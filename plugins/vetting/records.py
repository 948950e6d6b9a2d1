# SPDX-License-Identifier: Apache-2.0
"""A vetting of one node, and the reference that it is judged by: what is stored of them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import field

from records.errors import ExitStatus
from records.forms import Form, Part, key
from records.metric import Better
from records.site.node_facts import ByValue, NodeFacts

Word = Literal["fit", "suspect", "unfit"]
#: From best to worst.
WORDS: tuple[Word, ...] = ("fit", "suspect", "unfit")
#: The exit status of each word; 2 and 4 are those of all commands.
STATUS = {"fit": ExitStatus.PASS, "suspect": ExitStatus.INCONCLUSIVE, "unfit": ExitStatus.FAIL}
Step = Literal["facts", "memory", "arithmetic", "latency", "cores", "disk", "link"]

#: Metric → its step, its name for readers, unit and better direction.
METRICS: dict[str, tuple[Step, str, str, Better]] = {
    "stream_triad": ("memory", "memory bandwidth", "bytes/s", "higher"),
    "core_share": ("arithmetic", "time on a core", "1", "higher"),
    "dgemm_rate": ("arithmetic", "arithmetic", "flop/s", "higher"),
    "memory_latency": ("latency", "memory latency", "s", "lower"),
    "core_to_core": ("cores", "core to core", "s", "lower"),
    "disk_rate": ("disk", "disk", "bytes/s", "higher"),
    "link_out": ("link", "link out", "bytes/s", "higher"),
    "link_in": ("link", "link in", "bytes/s", "higher"),
}
#: Each array of STREAM in a vetting, a thread (checks/node/vet/work.c): above the caches.
STREAM_BYTES = 2**25


class Figure(Part, kw_only=True):
    """A measured value and what the reference says of it."""

    metric: Annotated[str, key("Metric that was measured.")]
    value: Annotated[float, key("The value, SI.")]
    unit: Annotated[str, key("Its unit.")]
    others: Annotated[float, key("Greatest share of a processor that others had.")] = 0.0
    word: Annotated[Word, key("Verdict on the node.")] = "suspect"
    level: Annotated[float | None, key("Level of the good nodes of the kind, SI.")] = None
    bound: Annotated[float | None, key("A value beyond this is unfit, SI.")] = None
    loss: Annotated[float | None, key("Loss against the level; a fraction.")] = None
    chance_if_fit: Annotated[float | None, key("Chance of this or worse on a fit node.")] = None
    chance_if_unfit: Annotated[float | None, key("Chance of this or better 10 % down.")] = None
    compared_with: Annotated[str, key("Reference that it is compared with.")] = ""
    first: Annotated[float | None, key("The first look's value, where there were two.")] = None


class Oddity(Part, kw_only=True):
    """A fact in which the node differs from its peers, or from itself before."""

    text: Annotated[str, key("The fact, what it is here and what it is elsewhere.")]
    word: Annotated[Word, key("Verdict on the node.")]


class Vetting(Form, kw_only=True):
    """Vetting of one node."""

    id: Annotated[str, key("Name of the record.")]
    node: Annotated[str, key("The node.")]
    at: Annotated[str, key("When it began, UTC.")]
    kind: Annotated[str, key("The node's hardware, of which its peers are.")] = ""
    word: Annotated[Word, key("fit, suspect or unfit.")] = "suspect"
    line: Annotated[str, key("The reason and what to do, in one line.")] = ""
    took_s: Annotated[float, key("Wall time, s.")] = 0.0
    neighbour: Annotated[str, key("Other ends of the link, with commas.")] = ""
    figures: Annotated[list[Figure], key("Measured values.")] = field(default_factory=list)
    oddities: Annotated[list[Oddity], key("Facts that differ.")] = field(default_factory=list)
    troubles: Annotated[list[str], key("Steps that it could not do.")] = field(default_factory=list)
    facts: Annotated[NodeFacts, key("Facts that the node says of itself.")] = NodeFacts()


#: A record from its bytes or text. Raises MsgspecError.
vetting_of = msgspec.json.Decoder(Vetting).decode


class Level(Part, kw_only=True):
    """The good nodes of a kind in one metric; logarithms, greater is better."""

    centre: Annotated[float, key("Median of the nodes' medians.")]
    spread: Annotated[float, key("Standard deviation of one vetting of any good node.")]
    noise: Annotated[float, key("Standard deviation of the vettings of one node.")]
    freedom: Annotated[float, key("Degrees of freedom of both.")]
    worst: Annotated[float, key("The worst vetting of a good node.")]
    nodes: Annotated[int, key("Good nodes.")]
    vettings: Annotated[int, key("Their vettings.")]
    own: Annotated[dict[str, float], key("Median of each node.")] = field(default_factory=dict)
    counts: Annotated[dict[str, int], key("Vettings of each node.")] = field(default_factory=dict)


class KindReference(Part, kw_only=True):
    """Levels and facts of nodes of one kind."""

    levels: Annotated[dict[str, Level], key("By metric.")] = field(default_factory=dict)
    facts: Annotated[ByValue, key("Fact, its value, nodes with it.")] = field(default_factory=dict)


class Reference(Form, kw_only=True):
    """Reference that vettings are judged by; made from the history of vettings."""

    made_at: Annotated[str, key("When it was made, UTC.")]
    kinds: Annotated[dict[str, KindReference], key("By kind.")] = field(default_factory=dict)
    fit: Annotated[list[str], key("Nodes found fit, newest first.")] = field(default_factory=list)
