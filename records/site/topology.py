# SPDX-License-Identifier: Apache-2.0
"""Hops between two nodes, by the tree of switches that a site declares.

A hop is a switch that a message passes: nodes of one switch are 1 hop apart. So h hops cost h - 1
times what one more hop costs (J. J. Dongarra and T. H. Dunigan, ORNL/TM-13006, 1996).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import combinations, product
from pathlib import Path

from pydantic import BaseModel, ConfigDict, model_validator

from records.errors import AssayError
from records.sections import key
from records.site.node_facts import expanded

Pair = tuple[str, str]

_LINE = re.compile(r"(\w+)=(\S+)")


class SwitchDescription(BaseModel):
    """A switch of a tree, with the nodes or the switches below it as Slurm lists them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: str = key('Nodes at this switch, e.g. "n[1-4]".', default="")
    switches: str = key('Switches below this switch, e.g. "s[1-2]".', default="")


class TopologyDescription(BaseModel):
    """The section `topology` of a site: one of `slurm` and `switches`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    slurm: str | None = key("Path of the site's topology.conf, a tree.", default=None)
    switches: dict[str, SwitchDescription] = key("A tree of switches, by name.", default={})
    left_out: list[str] = key("Nodes that launches are kept off; filled in by a run.", default=[])

    @model_validator(mode="after")
    def _one_kind(self) -> TopologyDescription:
        if (self.slurm is None) != bool(self.switches):
            raise ValueError("give one of slurm and switches")
        return self

    def read(self, folder: Path) -> TopologyDescription:
        """Description with the file that `slurm` names read; a relative path begins at `folder`."""
        if self.slurm is None:
            return self
        path = folder / os.path.expandvars(self.slurm)
        try:
            text = path.read_text()
        except OSError as error:
            raise AssayError(f"topology.slurm: {path}: {error.strerror}") from error
        return TopologyDescription(switches=switches_of(text, str(path)))

    def topology(self) -> Topology:
        """Topology described so. Raises AssayError for a contradiction, naming switch or node."""
        return Topology(self.switches, frozenset(self.left_out))


def switches_of(text: str, file: str) -> dict[str, SwitchDescription]:
    """The switches of a Slurm topology.conf; `file` is its name for messages."""
    found: dict[str, SwitchDescription] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = {word.lower(): value for word, value in _LINE.findall(line.partition("#")[0])}
        if not words:
            continue
        name = words.get("switchname")
        if name is None or name in found:
            raise AssayError(
                f"{file}:{number}: {'no SwitchName' if name is None else f'{name} again'}; allowed"
                " is SwitchName=NAME Nodes=LIST or SwitchName=NAME Switches=LIST, a switch a line"
            )
        found[name] = SwitchDescription(
            nodes=words.get("nodes", ""), switches=words.get("switches", "")
        )
    if not found:
        raise AssayError(f"{file}: names no switch; the topology of this site is not declared")
    return found


class Topology:
    """Hop counts between the nodes of a site in a tree of switches, but those that are `left_out`;
    several trees that nothing joins are allowed, as Slurm allows them. `leaves` are the nodes at
    each switch that has nodes."""

    def __init__(
        self, switches: Mapping[str, SwitchDescription], left_out: frozenset[str] = frozenset()
    ) -> None:
        self._left_out, self._switch_of = left_out, dict[str, str]()
        self.leaves: dict[str, list[str]] = {}
        above: dict[str, str] = {}
        for name, switch in switches.items():
            nodes = _expand(switch.nodes, f"topology: switch {name}")
            _join(self._switch_of, nodes, name, "node {} is at the switches {} and {}")
            if kept := self._kept(nodes, None):
                self.leaves[name] = kept
            below = _expand(switch.switches, f"topology: switch {name}")
            if unknown := [one for one in below if one not in switches]:
                raise AssayError(
                    f"topology: switch {name} names the switch {unknown[0]}, which is not one"
                )
            _join(above, below, name, "switch {} is below {} and {}")
        #: The switches from each one that has nodes to the top.
        self._paths: dict[str, list[str]] = {}
        for name in dict.fromkeys(self._switch_of.values()):
            path = self._paths[name] = [name]
            while (higher := above.get(path[-1])) is not None:
                if higher in path:
                    raise AssayError(
                        f"topology: switch {higher} is above itself; allowed is a tree"
                    )
                path.append(higher)

    def hops(self, one: str, other: str) -> int | None:
        """Switches on the way, up from either node to the first that both have above them; None
        where nothing joins them."""
        ends = (self._switch_of.get(one), self._switch_of.get(other))
        if one == other or ends[0] is None or ends[1] is None:
            return None
        first, second = self._paths[ends[0]], self._paths[ends[1]]
        shared = next((switch for switch in first if switch in second), None)
        return None if shared is None else first.index(shared) + second.index(shared) + 1

    def pairs(self, among: Collection[str] | None = None) -> Iterator[Pair]:
        """Pairs among the first two nodes of each switch, which stand for the others there: at
        least one of every hop count that there is; `among`: of these nodes alone."""
        leaves = [self._kept(nodes, among)[:2] for nodes in self.leaves.values()]
        for nodes in leaves:
            yield from combinations(nodes, 2)
        for some, others in combinations(leaves, 2):
            yield from product(some, others)

    def pair_at(
        self, hops: int, cores: Mapping[str, list[int]], among: Collection[str] | None = None
    ) -> Pair | None:
        """Two nodes so many hops apart, `among` these nodes if they are given; None if there are
        none. `cores` are the cores of nodes that share one machine: a pair that shares none is
        preferred."""
        found = [pair for pair in self.pairs(among) if self.hops(*pair) == hops]
        apart = (p for p in found if not set(cores.get(p[0], ())) & set(cores.get(p[1], ())))
        return next(apart, found[0] if found else None)

    @cached_property
    def hop_counts(self) -> list[int]:
        """Every hop count that two nodes have, ascending."""
        return sorted({hops for pair in self.pairs() if (hops := self.hops(*pair))})

    def _kept(self, nodes: Iterable[str], among: Collection[str] | None) -> list[str]:
        return [n for n in nodes if n not in self._left_out and (among is None or n in among)]


def _join(above: dict[str, str], names: Iterable[str], switch: str, fault: str) -> None:
    """Put names below a switch. Raises AssayError for one that is below another."""
    for name in names:
        if (other := above.setdefault(name, switch)) != switch:
            raise AssayError(f"topology: {fault.format(name, other, switch)}; allowed is one")


def _expand(text: str, where: str) -> list[str]:
    """The names that a list such as "n[1-4],login" stands for, in its own order, each once."""
    try:
        names = expanded(text)
    except ValueError as error:
        raise AssayError(f'{where}: {error}; allowed are lists such as "n[1-4]"') from error
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise AssayError(f"{where}: {twice} is listed twice")
    return names
