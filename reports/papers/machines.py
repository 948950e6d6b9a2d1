# SPDX-License-Identifier: Apache-2.0
"""The machines of then as tables: a line a machine, and a line a fact of what is no machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.show.tables import Cell, Column, Table

#: Endings of keys that are units, longest first.
_UNITS = {
    "_mbit_s": "Mbit/s",
    "_kbytes": "kbytes",
    "_mb_s": "MB/s",
    "_mhz": "MHz",
    "_ghz": "GHz",
    "_mflops": "Mflop/s",
    "_mb": "MB",
    "_gb": "GB",
    "_kb": "kB",
    "_us": "µs",
    "_mb_min": "MB at least",
}


def machine_tables(description: Any) -> list[Table]:
    """Tables of what a description says; none of an empty one."""
    machines: dict[str, dict[str, Any]] = {}
    facts: list[tuple[str, str, str]] = []
    for place, value in (description or {}).items():
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            machines |= {str(one.get("name", n)): one for n, one in enumerate(value, start=1)}
        elif isinstance(value, dict) and "name" in value:
            machines[str(value["name"])] = value
        elif isinstance(value, dict):
            facts += [(words(place), *fact) for fact in _facts(value)]
        else:
            facts.append(("", words(place), _text(value)))
    tables = []
    if machines:
        keys = list(dict.fromkeys(k for one in machines.values() for k in one if k != "name"))
        columns = [Column(words(key)) for key in ("machine", *keys)]
        rows = [
            [Cell(name), *(Cell(_text(one.get(key))) for key in keys)]
            for name, one in machines.items()
        ]
        tables.append(Table("machines-then", "Machines", columns, rows, "", len(rows)))
    if facts:
        columns = [Column(title) for title in ("of", "what", "as it was")]
        found: list[list[Cell]] = []
        groups = set()
        for number, (of, what, text) in enumerate(facts):
            again = number > 0 and of == facts[number - 1][0]
            groups |= set() if again else {number}
            found.append([Cell(of, quiet=again), Cell(what), Cell(text)])
        title = "What else is told of them" if machines else "Hardware, software and settings"
        tables.append(Table("facts-then", title, columns, found, "", len(found), frozenset(groups)))
    return tables


def words(name: str) -> str:
    """A key of a description as a heading: "clock_mhz" → "clock, MHz"."""
    ending = next((one for one in sorted(_UNITS, key=len, reverse=True) if name.endswith(one)), "")
    plain = name.removesuffix(ending).replace("_", " ")
    return f"{plain}, {_UNITS[ending]}" if ending else plain


def _facts(value: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, inner in value.items():
        told = f"{before}{words(name)}"
        if isinstance(inner, dict):
            yield from _facts(inner, f"{told}: ")
        else:
            yield told, _text(inner)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{words(str(name))} {_text(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
