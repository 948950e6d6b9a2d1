# SPDX-License-Identifier: Apache-2.0
"""Vetting and its reference as they are stored, and the judgement: each figure against the level
of the good nodes and of the node itself."""

from collections.abc import Iterator
from math import exp, log, sqrt
from typing import Annotated, Literal

import msgspec
from msgspec import field
from msgspec.structs import replace

from records.errors import ExitStatus
from records.flags import DISTURBED_SHARE
from records.forms import Form, Part, key
from records.metric import Better
from records.site.node_facts import ByValue, NodeFacts, facts_by_value
from reports.notation.units import percent

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


#: A node at this loss is to be found; a smaller one than LEAST_LOSS makes no node unfit.
FOUND_LOSS, LEAST_LOSS = 0.10, 0.05
#: Greatest chance that one look calls a fit node unfit, over all figures of a vetting; two must.
FALSE_UNFIT = 0.01
#: No loss of fewer standard deviations is unfit: a host's bursts have longer tails than Student's.
LEAST_DEVIATIONS = 5.0
#: Greatest chance that a node at FOUND_LOSS is called fit, a figure.
FALSE_FIT = 0.05
#: What other programs do not make worse: idle time of a processor whose thread is ready.
UNDISTURBED = "core_share"
#: Vettings of the node itself that its own level needs.
OWN_VETTINGS = 5
#: Share of the nodes that agree on a fact before another value is odd.
AGREED = 0.8
#: Facts in which less than the peers have makes a node unfit; others make it suspect.
_LOST = ("file_systems.", "nics.", "gpus", "memory", "cores", "sockets", "numa_nodes")
#: Of a network adapter these alone.
_LOST_OF_NIC = (".state", ".bits_per_second", ".kind")


def judged_figure(figure: Figure, node: str, reference: KindReference | None) -> Figure:
    """The figure with its word, by its peers and by the node's own vettings; the worse counts."""
    level = reference.levels.get(figure.metric) if reference else None
    if level is None:
        return replace(figure, word="suspect", compared_with="no reference")
    sets = f"{level.nodes} nodes" if level.nodes > 1 else "itself"
    text = f"{sets}, {level.vettings} vettings"
    found = _against(figure, level, level.centre, level.spread, level.vettings, text)
    n = level.counts.get(node, 0)
    if level.nodes > 1 and n >= OWN_VETTINGS:
        text = f"itself, {n} vettings"
        own = _against(figure, level, level.own[node], level.noise, n, text)
        found = max(found, own, key=lambda one: WORDS.index(one.word))
    sure = found.word == "unfit" and figure.metric == UNDISTURBED
    if figure.others > DISTURBED_SHARE and not sure:
        return replace(found, word="suspect")
    return found


def _against(  # noqa: PLR0917
    figure: Figure, level: Level, centre: float, spread: float, n: int, compared_with: str
) -> Figure:
    """The figure against one level: Student's t for a further value of what gave the level.

    Unfit: worse by LEAST_LOSS and by LEAST_DEVIATIONS (twice as many by OWN_VETTINGS of the node
    itself, less by more of them), with at most its part of FALSE_UNFIT for a
    fit node, and, among peers, worse than any vetting of a good node. Fit: a node at FOUND_LOSS
    shows such a value with the chance FALSE_FIT at most.
    """
    from scipy import special  # type: ignore[import-untyped]  # slow: after the first line

    sign = 1 if METRICS[figure.metric][3] == "higher" else -1
    logs, error = sign * log(figure.value), spread * sqrt(1 + 1 / n)
    deviation, lost = logs - centre, log(1 - FOUND_LOSS)
    if_fit = float(special.stdtr(level.freedom, deviation / error))
    if_unfit = float(special.stdtr(level.freedom, (lost - deviation) / error))
    chance = float(special.stdtrit(level.freedom, FALSE_UNFIT / len(METRICS)))
    # Few vettings of one node seldom show the tail that its next ones may have.
    alone = level.nodes == 1 or centre != level.centre
    least = LEAST_DEVIATIONS * (1 + OWN_VETTINGS / n if alone else 1)
    bound = centre + min(log(1 - LEAST_LOSS), min(chance, -least) * error)
    bound = min(bound, level.worst) if centre == level.centre else bound
    word: Word = "unfit" if logs < bound else "fit" if if_unfit <= FALSE_FIT else "suspect"
    if float(special.stdtr(level.freedom, lost / error)) > FALSE_FIT:  # not even at the centre
        compared_with += f" that vary too much to exclude a loss of {percent(FOUND_LOSS, 0)}"
    return replace(
        figure,
        word=word,
        level=exp(sign * centre),
        bound=exp(sign * bound),
        loss=1 - exp(deviation),
        chance_if_fit=if_fit,
        chance_if_unfit=if_unfit,
        compared_with=compared_with,
    )


def oddities(facts: NodeFacts, node: str, reference: KindReference | None) -> Iterator[Oddity]:
    """Facts in which the node differs from AGREED of its peers; of a single node, from itself."""
    own = facts_by_value({node: facts})
    for fact, values in (reference.facts if reference else {}).items():
        others = {text: [n for n in names if n != node] for text, names in values.items()}
        others = others if any(others.values()) else {t: [*names] for t, names in values.items()}
        usual = max(others, key=lambda text: len(others[text]))
        agreed = len(others[usual]) >= AGREED * sum(map(len, others.values()))
        here = next(iter(own.get(fact, {"": []})))
        if agreed and here != usual:
            names = others[usual]
            on = names[0] if len(names) == 1 else f"{len(names)} nodes"
            text = f"{fact} is {here or 'none'}, not {usual or 'none'} as on {on}"
            yield Oddity(text=text, word="unfit" if _is_less(fact, here, usual) else "suspect")


def _is_less(fact: str, here: str, usual: str) -> bool:
    """True if the node lacks something that its peers have."""
    if not fact.startswith(_LOST) or (fact.startswith("nics.") and not fact.endswith(_LOST_OF_NIC)):
        return False
    numbers = [text.partition(" ")[0] for text in (here, usual)]
    try:
        return float(numbers[0]) < float(numbers[1])
    except ValueError:
        return bool(usual) and (not here or fact.endswith(".state"))
