# SPDX-License-Identifier: Apache-2.0
"""What differs between the builds of two runs: origin, packages, how built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Facts of a package that Spack built, in the order of reading.
FACTS = ("version", "variants", "compiler", "target", "os", "hash", "external", "namespace")
ABSENT = "not in this build"


@dataclass(frozen=True)
class Difference:
    """One thing that differs: the environment, what it is, how it is in A and in B."""

    environment: str
    what: str
    a: str
    b: str


def build_differences(
    provenance_a: Mapping[str, Any], provenance_b: Mapping[str, Any]
) -> list[Difference]:
    """Differences between the builds of the environments that both runs have.

    A package that both built is told fact by fact; one that only one run has, in a line.
    """
    first, second = _environments(provenance_a), _environments(provenance_b)
    return [
        Difference(name, what, a, b)
        for name in sorted(first.keys() & second.keys())
        for what, a, b in _of_environment(first[name], second[name])
    ]


def _environments(provenance: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    found = provenance.get("environments")
    return found if isinstance(found, Mapping) else {}


def _of_environment(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    if a.get("source") != b.get("source"):
        yield "built by", str(a.get("source")), str(b.get("source"))
    sources = [(one.get("spack") or {}).get("sources") for one in (a, b)]
    if None not in sources and sources[0] != sources[1]:
        yield "our C sources", str(sources[0]), str(sources[1])
    packages_a, packages_b = _packages(a), _packages(b)
    for name in sorted(packages_a.keys() | packages_b.keys()):
        yield from _of_package(name, packages_a.get(name), packages_b.get(name))


def _packages(environment: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    distribution = environment.get("packages") or {}
    spack = (environment.get("spack") or {}).get("packages") or {}
    return {**{name: {"version": version} for name, version in distribution.items()}, **spack}


def _of_package(
    name: str, a: Mapping[str, Any] | None, b: Mapping[str, Any] | None
) -> Iterator[tuple[str, str, str]]:
    if a is None or b is None:
        yield name, _in_a_line(a), _in_a_line(b)
        return
    for fact in FACTS:
        if a.get(fact) != b.get(fact):
            yield f"{name}: {fact}", _text(a.get(fact)), _text(b.get(fact))


def _in_a_line(facts: Mapping[str, Any] | None) -> str:
    if facts is None:
        return ABSENT
    parts = [_text(facts.get("version"))]
    parts += [str(facts["variants"])] if facts.get("variants") else []
    parts += [f"%{facts['compiler']}"] if facts.get("compiler") else []
    parts += [str(facts["target"])] if facts.get("target") else []
    parts += [f"/{str(facts['hash'])[:7]}"] if facts.get("hash") else []
    parts += [f"from {facts['external']}"] if facts.get("external") else []
    return " ".join(parts)


def _text(value: object) -> str:
    return "–" if value in (None, "") else str(value)


def belongs_to_builds(key: str) -> bool:
    """Whether a dotted provenance key is told by build_differences."""
    words = key.split(".")
    return words[0] == "environments" and bool({"packages", "spack", "source"} & set(words[2:3]))
