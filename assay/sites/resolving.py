# SPDX-License-Identifier: Apache-2.0
"""A site.yaml as written, made complete: `like: OTHER`, and keys at the top as defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from assay.schema.document import Block, Items, Problem, place_of
from assay.schema.problems import found, listed, one_of
from assay.sites.description import PartitionKeys

Environments = Mapping[str, Any]
_WRONG_LIKE = object()


def merged(other: Mapping[str, Any], own: Mapping[str, Any]) -> Block:
    """`other` changed by `own`; a null that removes nothing is kept, for the model to refuse."""
    result = Block(place_of(own, ()), other)
    for key, value in own.items():
        if value is None and key in other:
            del result[key]
            result.places[key] = place_of(own, (key,))
            continue
        both = isinstance(value, dict) and isinstance(other.get(key), dict)
        whole = merged(other[key], value) if both else value
        result.put(key, whole, place_of(own, (key,)))
    return result


def complete(value: Mapping[str, Any]) -> Block:
    """The file's value with every environment and every partition complete.

    Maps merge by key; `access` of the top comes before that of a partition. An environment of a
    wrong `like` is left out.
    """
    result = Block(place_of(value, ()), value)
    environments, partitions = value.get("environments"), value.get("partitions")
    if isinstance(environments, dict):
        wholes = {name: _environment(name, environments) for name in environments}
        right = {name: whole for name, whole in wholes.items() if whole is not _WRONG_LIKE}
        place = place_of(value, ("environments",))
        result["environments"] = Block(place, right, environments)
    if isinstance(partitions, dict):
        keys = value.keys() & PartitionKeys.model_fields.keys()
        top = Block(result.place, {key: value[key] for key in keys}, value)
        wholes = {name: _partition(top, partitions, name) for name in partitions}
        place = place_of(value, ("partitions",))
        result["partitions"] = Block(place, wholes, partitions)
    return result


def _partition(top: Block, partitions: Mapping[str, Any], name: str) -> Any:
    # `batch:` with nothing below it is a partition of defaults.
    own = Block(place_of(partitions, (name,))) if partitions[name] is None else partitions[name]
    if not isinstance(own, dict):
        return own
    whole = merged(top, own)
    first, then = top.get("access"), own.get("access")
    if isinstance(first, list) and isinstance(then, list):
        places = [place_of(one, (i,)) for one in (first, then) for i in range(len(one))]
        whole.put("access", Items([*first, *then], places), place_of(own, ("access",)))
    return whole


def _environment(name: str, environments: Environments) -> Any:
    """An environment merged with those it is like, or _WRONG_LIKE."""
    if not isinstance(environments[name], dict):
        return environments[name]
    links = [environments[link] for link in reversed(_chain(name, environments))]
    if "like" in links[0]:
        return _WRONG_LIKE
    whole = reduce(merged, links, Block(place_of(links[0], ())))
    whole.pop("like", None)
    whole.place = place_of(links[0], ())  # what all of them lack, the first is to have
    return whole


def _chain(name: str, environments: Environments) -> list[str]:
    """`name`, the environment it is like, the one that is like, …; as far as these are right."""
    chain = [name]
    while True:
        other = environments[chain[-1]].get("like")
        right = isinstance(other, str) and isinstance(environments.get(other), dict)
        if not right or other in chain:
            return chain
        chain.append(other)


def like_problems(environments: Environments) -> Iterator[Problem]:
    """A problem for each `like` that names no other environment or closes a circle."""
    for name, entry in environments.items():
        if not isinstance(entry, dict) or "like" not in entry:
            continue
        other, place = entry["like"], ("environments", name, "like")
        others = [known for known in environments if known != name]
        chain = _chain(name, environments)
        if not isinstance(other, str):
            text = f"found {found(other)}; allowed is another environment: {listed(others)}"
        elif other == name:
            text = f"an environment is not like itself; allowed is another: {listed(others)}"
        elif environments[chain[-1]].get("like") == name:
            free = [known for known in others if name not in _chain(known, environments)]
            text = (
                f"goes in a circle: {', '.join([*chain, name])}; allowed is one outside it:"
                f" {listed(free) or 'none is'}"
            )
        else:
            yield from one_of(other, others, place)
            continue
        yield Problem(place, text)
