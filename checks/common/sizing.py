# SPDX-License-Identifier: Apache-2.0
"""Sizes that follow the site: keys and words of a campaign file, made into a check's parameters.

`nodes`, `memory_share` and `at_most_s` are given with the parameters of a check that takes them
(`CheckDefinition.sizing`). `ranks_per_node: {most: N}` or `link` and `turns: auto` serve every
check with such a parameter. What comes out are numbers: a plan, its ids and a launch know nothing
of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from checks.common.definition import CheckDefinition, SiteCapacity
from checks.common.parameters import MAX_RANKS, Parameters, Range, Ranks, quantity

#: The word for as many ranks on a node as fill its link.
LINK = "link"
#: Halvings of the share of memory in search of the greatest that keeps to `at_most_s`.
HALVINGS = 40


#: A site to try relative sizes on before the real one is known.
NOMINAL = SiteCapacity("nominal", 4, 4, 16 * 10**9, network_bytes_per_s=1.25e9)


class NodeRange(Range):
    """Numbers of nodes from `from` to `to`: evenly spaced, or so many for each doubling."""

    noun = "nodes"
    first: Ranks = quantity("Least number of nodes.", "nodes", alias="from")
    last: Literal["all"] | Ranks = quantity("Greatest number, or all.", "nodes", alias="to")
    step: int | None = quantity("Distance of neighbours.", "nodes", None, ge=1, le=MAX_RANKS)
    per_octave: int | None = quantity("Numbers for each doubling.", "numbers", None, ge=1, le=64)

    def counts(self, there: int) -> list[int]:
        """The numbers, ascending; `there` are all."""
        return sorted(set(self.spaced(there if self.last == "all" else self.last)))


class MostNodes(Parameters):
    """All nodes, up to a number."""

    most: Ranks = quantity("Greatest number of nodes.", "nodes")


def _form(value: object) -> str:
    if isinstance(value, MostNodes) or (isinstance(value, dict) and "most" in value):
        return "most"
    return "range" if isinstance(value, dict | NodeRange) else "number"


_Number = Annotated[int, Field(ge=1, le=MAX_RANKS)] | Literal["all", "half"]
Nodes = Annotated[
    Annotated[_Number, Tag("number")]
    | Annotated[NodeRange, Tag("range")]
    | Annotated[MostNodes, Tag("most")],
    Discriminator(_form),
]


class MostRanks(Parameters):
    """As many ranks as a node has cores, up to a number."""

    most: Ranks = quantity("Greatest number of ranks on a node.", "ranks")


class SizingKeys(Parameters):
    """The keys given with a check's parameters, and a further form of one of those."""

    nodes: Nodes | None = quantity(
        'Nodes of a launch: a number, "all" that can be busy at once, "half" of them,'
        " {most: 8}: all up to a number; in a matrix"
        " also a range {from: 1, to: all, per_octave: 1}. It sets the number of ranks.",
        "nodes",
        None,
    )
    memory_share: float | None = quantity(
        "Share of each node's memory that the data fill; it sets the size of the problem.",
        "1",
        None,
        gt=0,
        le=1,
    )
    at_most_s: float | None = quantity(
        "Estimated time of a launch at which `memory_share` is cut off.", "s", None, gt=0, le=1e6
    )

    ranks_per_node: MostRanks | None = quantity(
        "As many ranks as a node has cores, up to a number.", "ranks", None
    )

    @model_validator(mode="after")
    def _fit_together(self) -> SizingKeys:
        if self.at_most_s is not None and self.memory_share is None:
            raise ValueError("at_most_s limits memory_share, which is missing; give both")
        return self


def is_relative(definition: CheckDefinition[Any], given: Mapping[str, Any]) -> bool:
    """True if what is given for a check follows the site."""
    return (
        not definition.sizing.isdisjoint(given)
        or isinstance(given.get("ranks_per_node"), dict)
        or given.get("ranks_per_node") == LINK
        or (_takes_numbers_only(definition) and given.get("ranks_per_node") in ("fill", "half"))
        or ("turns" in definition.parameters.model_fields and given.get("turns") == "auto")
    )


def sized(
    definition: CheckDefinition[Any], given: Mapping[str, Any], site: SiteCapacity
) -> Iterator[dict[str, Any]]:
    """The parameters that `given` stands for on the site: several for a range of nodes.

    Raises ValidationError (of SizingKeys or the check's parameters) or ValueError.
    """
    own = {name: value for name, value in given.items() if name not in definition.sizing}
    keys = _keys(definition, given)
    if own.get("turns") == "auto" and "turns" in definition.parameters.model_fields:
        own["turns"] = site.busy_nodes < site.nodes
    every = definition.waits or own.get("turns") is True
    there = site.nodes if every else site.busy_nodes
    if isinstance(keys.nodes, NodeRange):
        counts: list[int | None] = [*keys.nodes.counts(there)]
    elif isinstance(keys.nodes, MostNodes):
        counts = [min(keys.nodes.most, there)]
    else:
        words = {"all": there, "half": max(1, there // 2)}
        counts = [words[keys.nodes] if isinstance(keys.nodes, str) else keys.nodes]
    for nodes in counts:
        yield _sized_for(definition, dict(own), nodes, keys, site)


def probed(definition: CheckDefinition[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters on a nominal site, for faults that are there on every site."""
    _keys(definition, given)
    if "nodes" in definition.sizing and "nodes" in given:
        given = {**given, "nodes": NOMINAL.nodes}
    return next(sized(definition, given, NOMINAL))


def _keys(definition: CheckDefinition[Any], given: Mapping[str, Any]) -> SizingKeys:
    keys = {name: value for name, value in given.items() if name in definition.sizing}
    if isinstance(given.get("ranks_per_node"), dict):
        keys["ranks_per_node"] = given["ranks_per_node"]
    return SizingKeys.model_validate(keys)


def _sized_for(
    definition: CheckDefinition[Any],
    params: dict[str, Any],
    nodes: int | None,
    keys: SizingKeys,
    site: SiteCapacity,
) -> dict[str, Any]:
    cores = site.cores_per_node
    field = definition.parameters.model_fields.get("ranks_per_node")
    asked = params.get("ranks_per_node", field.default if field else 1)
    most = keys.ranks_per_node.most if keys.ranks_per_node else cores
    words = {"fill": cores, "half": max(1, cores // 2), LINK: site.ranks_per_link}
    on_node = min(most, cores) if isinstance(asked, dict) else words.get(asked, asked)
    if not isinstance(on_node, int) or on_node < 1:
        return params  # the check's own model says what is wrong
    if nodes is not None:
        _set(params, definition.spread(params, nodes, on_node), "nodes")
    if keys.ranks_per_node:
        fills = min(cores, definition.ranks_given(params)) <= most
        params["ranks_per_node"] = "fill" if fills else most
    if asked == LINK or (_takes_numbers_only(definition) and isinstance(asked, str | dict)):
        params["ranks_per_node"] = on_node
    if keys.memory_share is not None:
        _fill_memory(definition, params, on_node, keys, site)
    return params


def _fill_memory(
    definition: CheckDefinition[Any],
    params: dict[str, Any],
    on_node: int,
    keys: SizingKeys,
    site: SiteCapacity,
) -> None:
    """Set the sizes that fill the share of memory, or as much of it as `at_most_s` allows."""
    ranks = definition.ranks_given(params)
    on_node = min(on_node, ranks)
    nodes = -(-ranks // on_node)
    whole = (keys.memory_share or 0) * site.memory_bytes_per_node

    def sizes(share: float) -> dict[str, Any]:
        return definition.filled(params, nodes, on_node, whole * share)

    def time_s(share: float) -> float:
        complete = definition.parameters.model_validate({**params, **sizes(share)})
        return definition.estimate_s(complete, definition.layout(complete, cores), site)

    cores, share = site.cores_per_node, 1.0
    if keys.at_most_s is not None and time_s(share) > keys.at_most_s:
        share = 0.0
        for step in (2.0**-k for k in range(1, HALVINGS + 1)):
            share += step if time_s(share + step) <= keys.at_most_s else 0.0
    _set(params, sizes(share), "memory_share")


def _set(params: dict[str, Any], found: Mapping[str, Any], key: str) -> None:
    """Add what a key sets. Raises ValueError for what is given already."""
    for name in found:
        if name in params:
            raise ValueError(f"{key} sets {name}, which is given too; keep one")
    params.update(found)


def _takes_numbers_only(definition: CheckDefinition[Any]) -> bool:
    field = definition.parameters.model_fields.get("ranks_per_node")
    return field is not None and field.annotation is int
