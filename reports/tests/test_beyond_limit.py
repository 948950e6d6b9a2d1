# SPDX-License-Identifier: Apache-2.0
"""A value that physics does not allow is marked where it stands, and no other is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.documents.report import build_report
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.tests.synthetic import case, changed, write_run

RATE = {"unit": "bytes/s", "better": "higher", "definition": "a rate", "limit": "link"}
CHECK = {"name": "stream", "title": "Stream", "deciding": "", "shown": ""}
#: Of 12.5 MB/s less headers; the third block of the longest message is beyond.
VALUES = {1024: [3e6, 3e6, 3e6], 8192: [14e6, 15e6, 14e6], 65536: [11e6, 11e6, 12.6e6]}


def written(folder: Path, network: dict[str, Any]) -> Path:
    def measured(record: dict[str, Any]) -> dict[str, Any]:
        same = {"unit": "bytes/s", "better": "higher"}
        metrics = [
            {
                "name": name,
                "value": values[record["block"] - 1],
                "at": {"message_bytes": size},
                **same,
            }
            for size, values in VALUES.items()
            for name in ("bounded", "free")
        ]
        return record | {"metrics": metrics, "flags": ["beyond-limit"]}

    run = write_run(folder / "run", [case("stream", "lam", {"x": 1})], blocks=3, edit=measured)
    metrics = [{"name": "bounded", **RATE}, {"name": "free", **RATE, "limit": ""}]
    changed(run / "plan.json", schema=2, metrics=metrics, checks=[CHECK])
    site = json.loads((run / "provenance.json").read_text())["site"]
    changed(run / "provenance.json", site=site | {"network": site["network"] | network})
    return run


def marks(run: Path) -> dict[tuple[str, Any], tuple[str, ...]]:
    found = {}
    for row in analyse(load_run(run)).rows:
        at = row.series.metric, row.series.at_value("message_bytes")
        found[at] = tuple(flag for flag in row.flags if flag.startswith("beyond"))
    return found


def test_each_value_is_held_against_its_bound(tmp_path):
    run = written(tmp_path, {"payload_share": 1448 / 1538})
    assert marks(run) == {
        ("bounded", 1024): (),
        ("bounded", 8192): ("beyond-limit",),
        ("bounded", 65536): ("beyond-limit in 1 of 3",),
        **{("free", size): () for size in VALUES},
    }
    build_report(run)
    text = (run / "report/report.md").read_text()
    marked = [line for line in text.splitlines() if r"beyond\-limit" in line]
    assert any("8 KiB" in line and "14.3" in line for line in marked)
    assert not any("1 KiB" in line for line in marked)


def test_without_a_known_rate_nothing_is_beyond(tmp_path):
    assert not any(marks(written(tmp_path, {"bits_per_second": None})).values())
