# SPDX-License-Identifier: Apache-2.0
"""What differs between the builds of two runs: origin, packages, how built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from records.run.provenance import EnvironmentAsRun, Provenance, SpackPackage

ABSENT = "not in this build"


@dataclass(frozen=True)
class Difference:
    """One thing that differs: the environment, what it is, how it is in A and in B."""

    environment: str
    what: str
    a: str
    b: str


def build_differences(a: Provenance, b: Provenance) -> list[Difference]:
    """Differences between the builds of the environments that both runs have.

    A package that both built is told fact by fact; one that only one run has, in a line.
    """
    return [
        Difference(name, what, first, second)
        for name in sorted(a.environments.keys() & b.environments.keys())
        for what, first, second in _of_environment(a.environments[name], b.environments[name])
    ]


def _of_environment(a: EnvironmentAsRun, b: EnvironmentAsRun) -> Iterator[tuple[str, str, str]]:
    if a.source != b.source:
        yield "built by", _text(a.source), _text(b.source)
    if a.spack and b.spack and a.spack.sources != b.spack.sources:
        yield "our C sources", _text(a.spack.sources), _text(b.spack.sources)
    packages_a, packages_b = _packages(a), _packages(b)
    for name in sorted(packages_a.keys() | packages_b.keys()):
        one, other = packages_a.get(name), packages_b.get(name)
        if one is None or other is None:
            yield name, _in_a_line(one), _in_a_line(other)
            continue
        for fact in SpackPackage.__struct_fields__:
            of_a, of_b = getattr(one, fact), getattr(other, fact)
            if of_a != of_b:
                yield f"{name}: {fact}", _text(of_a), _text(of_b)


def _packages(environment: EnvironmentAsRun) -> dict[str, SpackPackage]:
    """Packages of the distribution, of which only the version is known, and those of Spack."""
    found = {name: SpackPackage(version=v) for name, v in environment.packages.items()}
    return found | (environment.spack.packages if environment.spack else {})


def _in_a_line(package: SpackPackage | None) -> str:
    if package is None:
        return ABSENT
    parts = [
        _text(package.version),
        package.variants,
        f"%{package.compiler}" if package.compiler else None,
        package.target,
        f"/{package.hash[:7]}" if package.hash else None,
        f"from {package.external}" if package.external else None,
    ]
    return " ".join(part for part in parts if part)


def _text(value: str | None) -> str:
    return value or "–"


def belongs_to_builds(key: str) -> bool:
    """Whether a dotted provenance key is told by build_differences."""
    words = key.split(".")
    return words[0] == "environments" and bool({"packages", "spack", "source"} & set(words[2:3]))
