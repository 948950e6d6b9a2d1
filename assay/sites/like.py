# SPDX-License-Identifier: Apache-2.0
"""`like: OTHER`: an environment of a site.yaml that states only what differs from another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.schema.document import Location, Problem
from assay.schema.problems import found, listed, one_of

Environments = Mapping[str, Any]


def resolved(environments: Environments) -> dict[str, Any]:
    """The environments, each merged with those it is like; without those of a wrong `like`."""
    result = {}
    for name, entry in environments.items():
        if not isinstance(entry, dict):
            result[name] = entry
            continue
        chain = _chain(name, environments)
        if "like" not in environments[chain[-1]]:
            whole: dict[str, Any] = {}
            for link in reversed(chain):
                whole = merged(whole, environments[link])
            result[name] = {key: value for key, value in whole.items() if key != "like"}
    return result


def merged(other: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """`other` changed by `own`; a null that removes nothing is kept, for the model to refuse."""
    result = dict(other)
    for key, value in own.items():
        if value is None and key in other:
            del result[key]
        elif isinstance(value, dict) and isinstance(other.get(key), dict):
            result[key] = merged(other[key], value)
        else:
            result[key] = value
    return result


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
            yield Problem(place, text)
        elif other == name:
            text = f"an environment is not like itself; allowed is another: {listed(others)}"
            yield Problem(place, text)
        elif environments[chain[-1]].get("like") == name:
            free = [known for known in others if name not in _chain(known, environments)]
            text = f"goes in a circle: {', '.join([*chain, name])}; allowed is one outside it:"
            yield Problem(place, f"{text} {listed(free) or 'none is'}")
        else:
            yield from one_of(other, others, place)


def where_written(location: Location, environments: Environments) -> Location:
    """Where the file writes what the resolved environments have at `location`."""
    if location[:1] != ("environments",) or len(location) < 3:
        return location
    _, name, *path = location
    chain = _chain(str(name), environments)
    for depth in range(len(path), 0, -1):
        for link in chain:
            if has_path(environments[link], path[:depth]):
                return ("environments", link, *path)
    return ("environments", chain[-1], *path)


def has_path(value: Any, path: list[str | int]) -> bool:
    """Whether a value of the file has something at the path."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True
