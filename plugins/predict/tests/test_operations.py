# SPDX-License-Identifier: Apache-2.0
"""What the report shows of collective operations."""

from pathlib import Path

import pytest

from assay.documents.report import build_report
from plugins.predict import operations as collectives
from reports.tests import synthetic

COUNTS = (2, 3, 4, 6, 8, 16)
SIZES = (4, 1024, 65536, 1048576)
SPEED = {"mpich": 1.0, "lam": 2.0}


def _time(operation, p, size):
    """24 p + 90 µs and (0.082 p) µs a byte for total exchange, else 50 µs and 0.01 µs a byte."""
    if operation == "total_exchange":
        return 1e-6 * (24 * p + 90 + 0.082 * p * size)
    return 1e-6 * (50 + 0.01 * size)


def timed(record):
    """The record with the times of its operations."""
    metrics = []
    for operation in record["params"]["operations"]:
        for size in (0,) if operation == "barrier" else SIZES:
            value = _time(operation, record["ranks"], size) * SPEED[record["environment"]]
            at = {"operation": operation, "message_bytes": size}
            metrics.append(synthetic.metric("collective_time", value, **at))
    return record | {"metrics": metrics}


def cases_of(name, operations, counts):
    at = {"operations": operations}
    return [synthetic.case("collectives", name, {"ranks": p, **at}, p) for p in counts]


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    operations = ["barrier", "broadcast", "total_exchange", "allreduce"]
    cases = [case for name in SPEED for case in cases_of(name, operations, COUNTS)]
    return synthetic.analysed(tmp_path_factory.mktemp("runs") / "run", cases, blocks=3, edit=timed)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_expressions_have_a_column_an_environment(analysis):
    table = collectives.expressions(analysis)
    assert [column.environment for column in table.columns[1:]] == ["mpich", "lam"]
    rows = {row[0]: row[1:] for row in texts(table)}
    assert list(rows) == ["barrier", "broadcast", "total exchange", "allreduce"]
    assert " p + " in rows["total exchange"][0]


def test_latency_and_bandwidth_a_process_count(analysis):
    table = collectives.latencies(analysis)
    titles = [column.title for column in table.columns]
    row = next(r for r in texts(table) if r[:2] == ["total exchange", "mpich"])
    found = [row[titles.index(one)].replace("\u202f", "") for one in ("T0(2), µs", "R∞(16), MB/s")]
    rate = 16 * 15 / (0.082e-6 * 16) / 1e6
    assert [float(text) for text in found] == pytest.approx([138, rate], rel=0.05)


def test_too_few_process_counts_give_no_law(tmp_path):
    cases = cases_of("mpich", ["scan"], (2, 4))
    analysis = synthetic.analysed(tmp_path / "few", cases, blocks=3, edit=timed)
    assert texts(collectives.expressions(analysis))[0][1] == "no law"
    assert "2 process counts" in collectives.expressions(analysis).rows[0][1].title


def test_the_report_has_the_section(analysis):
    files = build_report(analysis.run.directory, formats=("html", "md")).files
    page, text = (Path(files[name]).read_text() for name in ("html", "md"))
    pictures = [f"picture-collective-{one}" for one in ("length", "counts")]
    for anchor in (*pictures, "table-collective-expressions"):
        assert f'id="{anchor}"' in page
    assert "as Table 3 of Hwang" in text
