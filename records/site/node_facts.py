# SPDX-License-Identifier: Apache-2.0
"""Facts that a node tells of itself: hardware, firmware, kernel, network adapters, file systems.

None is what the node does not tell an ordinary user. Nodes in lists as Slurm shortens them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from ClusterShell.NodeSet import NodeSet, NodeSetParseError

from records.values import Count

#: A difference of less memory is firmware's, node by node.
_MEMORY_STEP_BYTES = 2**30
#: Characters of one value, where several are given.
_SHOWN = 80


class Nic(msgspec.Struct, frozen=True, kw_only=True):
    """A network adapter: `kind` is ethernet, infiniband (Omni-Path too) or cxi (Slingshot)."""

    kind: str | None = None
    state: str | None = None
    bits_per_second: Count | float | None = None
    mtu_bytes: Count | None = None
    driver: str | None = None
    firmware: str | None = None
    counters_readable: bool | None = None


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of a node. `settings` are the kernel's by name; `file_systems` types by mount point."""

    processor: str | None = None
    sockets: Count | None = None
    cores: Count | None = None
    threads_per_core: Count | None = None
    numa_nodes: Count | None = None
    microcode: str | None = None
    product: str | None = None
    firmware: str | None = None
    kernel: str | None = None
    operating_system: str | None = None
    governor: str | None = None
    memory_bytes: Count | None = None
    settings: dict[str, str] = {}
    nics: dict[str, Nic] = {}
    gpus: list[str] = []
    file_systems: dict[str, str] = {}


#: Fact → its value → the nodes that have it; "" where a node does not have the fact.
ByValue = dict[str, dict[str, list[str]]]


def facts_by_value(nodes: Mapping[str, NodeFacts]) -> ByValue:
    """Every fact with the nodes of each value, e.g. {"kernel": {"Linux 5.14": ["c1", "c2"]}}."""
    texts = {name: dict(_flat("", msgspec.to_builtins(facts))) for name, facts in nodes.items()}
    found: ByValue = {}
    for fact in sorted({fact for one in texts.values() for fact in one}):
        for name in sorted(texts):
            found.setdefault(fact, {}).setdefault(texts[name].get(fact, ""), []).append(name)
    return found


def value_text(values: Mapping[str, list[str]]) -> str:
    """Value that all nodes have, or each with its nodes: "a on c[1-3]; b on c4"."""
    if len(values) == 1:
        return next(iter(values))
    ordered = sorted(values.items(), key=lambda item: (-len(item[1]), item[0]))
    return "; ".join(
        f"{text[:_SHOWN] or 'none'} on {NodeSet.fromlist(names)}" for text, names in ordered
    )


def kinds_of(nodes: Mapping[str, NodeFacts]) -> dict[str, str]:
    """The hardware of each node that tells it. What a fault can change (memory, firmware, cores
    online) makes no kind."""
    words = {name: (facts.product, facts.processor) for name, facts in nodes.items()}
    return {name: " ".join(filter(None, told)) for name, told in words.items() if any(told)}


def differences(nodes: Mapping[str, NodeFacts]) -> list[str]:
    """Facts that are not alike on all nodes, a line a fact: "kernel: a on c[1-3]; b on c4"."""
    facts = facts_by_value(nodes).items()
    return [f"{fact}: {value_text(values)}" for fact, values in facts if len(values) > 1]


def oddities(nodes: Mapping[str, NodeFacts], name: str) -> list[str]:
    """In what one node differs from what most nodes have: "kernel is b, not a"."""
    found = []
    for fact, values in facts_by_value(nodes).items():
        usual = max(values, key=lambda text: len(values[text]))
        own = next((text for text, names in values.items() if name in names), usual)
        if len(values[own]) < len(values[usual]):
            found.append(f"{fact} is {own[:_SHOWN] or 'none'}, not {usual[:_SHOWN] or 'none'}")
    return found


def _flat(head: str, value: Any) -> Iterator[tuple[str, str]]:
    """Leaves by dotted names; memory in GiB, for identical nodes differ by some kB."""
    for key, inner in value.items():
        name = f"{head}{key}"
        if isinstance(inner, Mapping):
            yield from _flat(f"{name}.", inner)
        elif name == "memory_bytes" and inner is not None:
            yield "memory", f"{round(inner / _MEMORY_STEP_BYTES)} GiB"
        elif inner not in (None, []):
            yield name, ", ".join(map(str, inner)) if isinstance(inner, list) else str(inner)


#: Names that a list may stand for: anybody may have written it.
MOST_NAMES = 100_000


def expanded(listed: str) -> list[str]:
    """The names in a list such as n[1-3,08],m2, in its order. Raises ValueError for no list, and
    one that stands for too many."""
    names: list[str] = []
    if re.search(r"\[[^\]]*[0-9]{7}", listed):
        raise ValueError("numbers of more than six digits")
    for part in re.split(r",(?![^\[]*\])", listed) if listed else ():
        try:
            nodes = NodeSet(part.strip())
        except NodeSetParseError as error:
            raise ValueError(str(error)) from error
        if len(names) + len(nodes) > MOST_NAMES:
            raise ValueError(f"more than {MOST_NAMES} names")
        names += nodes
    return names


def names_in(listed: str) -> list[str]:
    """The names in a list, each once; none where it is no list."""
    try:
        return list(dict.fromkeys(expanded(listed)))
    except ValueError:
        return []
