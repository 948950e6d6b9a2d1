# SPDX-License-Identifier: Apache-2.0
"""The JSON lines of our programs among foreign text, and what is not believed."""

import json

import msgspec
import pytest

from checks.common import json_lines
from checks.common.json_lines import OutputError, session_lines
from checks.common.registry import CHECKS
from checks.common.tests.evidence_of import evidence_of


def parse(text):
    return json_lines.parse(text, CHECKS["startup"].metrics_by_name)


def metric(**changes):
    entry = {"assay": "metric", "name": "init", "unit": "s", "value": 0.25}
    return json.dumps({**entry, **changes}, separators=(",", ":"))


def test_foreign_lines_are_left_alone():
    text = "mpirun: warning {\n" + metric() + '\n{"other":1}\n[1]\n{not json\n'
    output = parse(text)
    assert [(m.name, m.value, m.unit) for m in output.metrics] == [("init", 0.25, "s")]
    assert not output.ended


def test_all_kinds_of_lines_find_their_place():
    lines = [
        {"assay": "program", "name": "startup"},
        {"assay": "note", "key": "warmup", "value": 10},
        {"assay": "stamp", "name": "launch_begin", "at": 1.5},
        {"assay": "stamp", "name": "launch_end", "at": 2.0},
        {"assay": "allocation", "nodes": "n[1-2]"},
        {"assay": "error", "where": "main", "message": "no"},
        {"assay": "exit", "status": 1},
        {"assay": "end", "ok": True},
    ]
    output = parse("\n".join(json.dumps(line, separators=(",", ":")) for line in lines))
    assert output.notes == {"warmup": 10}
    assert output.phase_s("launch_begin", "launch_end") == 0.5
    assert output.phase_s("boot_begin", "boot_end") is None
    assert output.errors == ["main: no"]
    assert (output.exit_status, output.ended) == (1, True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *((metric(value=value), "") for value in ("1.0", None, True, 0, -1.0, 1e30, [1.0])),
        *((metric().replace("0.25", value), "") for value in ("NaN", "Infinity", "-Infinity")),
        *((metric(samples=s), "") for s in ([0.1, 0.0], 0.1, {"0": 0.1}, "0.1", [[0.1]])),
        (metric(at="rank"), "is not a point"),
        (metric(name="half_round_trip"), "this check reports no metric"),
        (metric(unit="ms"), "this check reports no metric"),
        (metric(name=["init"]), "this check reports no metric"),
        (metric()[:-5], "cut"),
        ('{"assay":"metrics"}', "unknown form"),
    ],
)
def test_what_is_no_measurement_is_refused(line, said):
    with pytest.raises(OutputError, match=said or None):
        parse(line)


ONCE = [{"assay": "program"}, {"assay": "allocation"}, {"assay": "exit", "status": 0}]
ONCE += [{"assay": "stamp", "name": "launch_end", "at": 1.5}]
ONCE += [{"assay": "evidence", **msgspec.to_builtins(evidence_of("n1", "n2"))}]


@pytest.mark.parametrize("line", ONCE, ids=lambda line: line["assay"])
def test_what_is_said_once_is_not_said_twice(line):
    text = json.dumps(line)
    parse(text)
    with pytest.raises(OutputError, match="was printed twice"):
        parse(f"{text}\n{text}")


def test_a_wrong_answer_is_kept_apart_from_a_failure():
    line = '{"assay":"error","where":"verify","message":"element 3","rank":1%s}\n'
    output = parse(line % ',"wrong":true' + line % "")
    assert output.wrong == output.errors == ["verify: element 3"]


def test_the_session_is_heard_in_damaged_output_too():
    text = (
        '{"assay":"stamp","token":"t","name":"session_begin","at":10.5}\n\x00{"assay":"met\n'
        '{"assay":"stamp","name":"session_end","at":11.0}\n{"assay":"stamp","token":"t","na\n'
        '{"assay":"stamp","token":"t","name":"session_end","at":12.0}\n'
    )
    assert session_lines(text, "t").session_interval() == (10.5, 12.0)
    assert session_lines(text.splitlines()[0], "t").session_interval() is None
