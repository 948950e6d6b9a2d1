# SPDX-License-Identifier: Apache-2.0
"""`assay verify` on archives of raw output: what lies behind the members that records name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from assay.documents.verify import _NamedRaw, _raw_faults
from records.run.archive import ArchiveWriter, Packed

STEM = "hpl-1.b1.a1"
TEXTS = {f"{STEM}.out": b"rate 1\n" * 40, f"{STEM}.err": b""}


def written(folder: Path) -> list[_NamedRaw]:
    """A run directory with the archive of one launch, and its record."""
    (folder / "raw").mkdir(parents=True)
    writer = ArchiveWriter(folder / "raw/b1.zip", lambda _: True)
    writer.append([Packed(name, [text]) for name, text in TEXTS.items()])
    writer.close()
    artifacts = {}
    for kind, (name, text) in zip(("stdout", "stderr"), TEXTS.items(), strict=True):
        artifacts[kind] = f"raw/b1.zip/{name}"
        artifacts[f"{kind}_sha256"] = hashlib.sha256(text).hexdigest()
    record = {"case_id": "hpl-1", "block": 1, "attempt": 1, "status": "ok", "artifacts": artifacts}
    return [msgspec.json.decode(json.dumps(record), type=_NamedRaw)]


def put_before_the_directory(content: bytearray) -> None:
    at = content.index(b"PK\1\2")
    content[at:at] = b"foreign bytes of no member"


def damage_before_a_named_member(content: bytearray) -> None:
    content[content.index(b"PK\3\4", 10) + 1] = 0


@pytest.mark.parametrize("damage", [None, put_before_the_directory, damage_before_a_named_member])
def test_a_damage_is_told_once(tmp_path: Path, damage: Callable[[bytearray], None] | None) -> None:
    records = written(tmp_path)
    path = tmp_path / "raw/b1.zip"
    content = bytearray(path.read_bytes())
    if damage:
        damage(content)
    path.write_bytes(content)
    faults = [*_raw_faults(tmp_path, records)]
    assert ["is damaged at byte" in fault for fault in faults] == ([True] if damage else [])
