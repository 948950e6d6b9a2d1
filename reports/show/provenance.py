# SPDX-License-Identifier: Apache-2.0
"""Provenance in words: sections of keys with their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from records.run.provenance import Provenance
from records.site.node_facts import facts_by_value, value_text
from reports.notation.labels import shortened


def provenance_rows(provenance: Provenance) -> list[tuple[str, list[tuple[str, str]]]]:
    """Provenance as sections of (key, text); nested objects become dotted keys.

    Of nodes each fact is listed once, with the nodes of each value where they are not alike.
    """
    plain: list[tuple[str, str]] = []
    sections = []
    for name, value in msgspec.to_builtins(provenance).items():
        if name == "nodes":
            facts = facts_by_value(provenance.nodes)
            sections.append(
                (name, [(fact, value_text(by_value)) for fact, by_value in facts.items()])
            )
        elif isinstance(value, Mapping):
            sections.append((name, list(_flat(value.items(), ""))))
        else:
            plain.append((name, _text(value)))
    return [("run", plain), *sections]


def _flat(items: Iterable[tuple[Any, Any]], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in items:
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and "hash" not in value:
            yield from _flat(value.items(), f"{name}.")
        else:
            yield name, _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(item)}" for key, item in value.items()) or "none"
    return shortened(str(value), 2000)
