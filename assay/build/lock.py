# SPDX-License-Identifier: Apache-2.0
"""Packages of a view by a spack.lock: version, variants, compiler, hash."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

#: Parameters of a spec that say nothing about this build.
_NO_VARIANTS = {"build_system", "cflags", "cppflags", "cxxflags", "fflags", "ldflags", "ldlibs"}
#: Dependencies that are there when a program runs; others were needed to build it only.
_STAYING = frozenset({"link", "run"})


class Lock:
    """A spack.lock: its root specs and all specs by hash."""

    def __init__(self, path: Path) -> None:
        content = json.loads(path.read_bytes())
        self.roots: dict[str, str] = {root["hash"]: root["spec"] for root in content["roots"]}
        self.specs: dict[str, dict[str, Any]] = content["concrete_specs"]

    def roots_of(self, library: str) -> list[str]:
        """Hashes of the roots that use (or are) `library`: name[@version] [variant=value…]."""
        return [h for h in self.roots if any(self._is(x, library) for x in self._below([h]))]

    def _is(self, spec_hash: str, library: str) -> bool:
        head, *variants = library.split()
        name, _, version = head.partition("@")
        spec = self.specs[spec_hash]
        wanted = (word.split("=", 1) for word in variants)
        return (
            spec["name"] == name
            and f"{spec['version']}.".startswith(f"{version}." if version else "")
            and all(spec["parameters"].get(key) == value for key, value in wanted)
        )

    def _below(self, roots: Iterable[str], kinds: frozenset[str] = frozenset()) -> set[str]:
        """Hashes of `roots` and of all they depend on; `kinds`: by these kinds of dependency."""
        seen, rest = set[str](), list(roots)
        while rest:
            current = rest.pop()
            if current not in seen:
                seen.add(current)
                rest += (
                    one["hash"]
                    for one in self.specs[current].get("dependencies", ())
                    if not kinds or kinds & set(one["parameters"].get("deptypes", ()))
                )
        return seen

    def packages(self, roots: list[str]) -> dict[str, dict[str, Any]]:
        """Facts of each package below `roots` that is linked or run, by name."""
        packages = {}
        for spec_hash in self._below(roots, _STAYING):
            spec = self.specs[spec_hash]
            target = spec["arch"]["target"]
            compilers = (
                self.specs[dependency["hash"]]
                for dependency in spec.get("dependencies", ())
                if "c" in dependency.get("parameters", {}).get("virtuals", ())
            )
            packages[spec["name"]] = {
                "version": spec["version"],
                "variants": _variants(spec.get("parameters", {})),
                "compiler": next((f"{c['name']}@{c['version']}" for c in compilers), None),
                "target": target if isinstance(target, str) else target["name"],
                "os": spec["arch"]["platform_os"],
                "hash": spec_hash,
                "external": (spec.get("external") or {}).get("path"),
                "namespace": spec["namespace"],
            }
        return dict(sorted(packages.items()))

    def hashes_of(self, names: Collection[str], roots: list[str]) -> list[str]:
        """Hashes of the packages of these names that `roots` need."""
        return sorted(h for h in self._below(roots, _STAYING) if self.specs[h]["name"] in names)


def _variants(parameters: dict[str, Any]) -> str:
    words = []
    for name, value in sorted(parameters.items()):
        if isinstance(value, bool):
            words.append(f"{'+' if value else '~'}{name}")
        elif name not in _NO_VARIANTS:
            words.append(
                f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
            )
    return " ".join(words)
