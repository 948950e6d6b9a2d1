# SPDX-License-Identifier: Apache-2.0
"""Output of foreign programs that is damaged in any way never becomes a measurement."""

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.common import json_lines
from checks.hpl import output as hpl
from checks.netpipe import output as netpipe
from checks.osu import OsuParameters
from checks.osu import output as osu
from checks.pt2pt import CHECK as PT2PT

CHECKS = Path(__file__).resolve().parents[2]
JSON_LINES = "\n".join(
    json.dumps(line)
    for line in [
        {"assay": "program", "name": "pt2pt", "mpi": "MPICH 4.0.2"},
        *(
            {
                "assay": "metric",
                "name": "half_round_trip",
                "unit": "s",
                "value": 1.25e-5 * size,
                "at": {"construct": "Send/Recv", "message_bytes": size},
                "samples": [1.2e-5 * size, 1.25e-5 * size, 1.5e-5 * size],
            }
            for size in (1, 2, 4, 8)
        ),
        {"assay": "exit", "status": 0},
        {"assay": "end", "program": "pt2pt", "ok": True},
    ]
)


def _read_osu(text, name):
    if "hello" in name:
        return osu.check_hello(text, 2) or "greeted"
    if "init" in name:
        return osu.parse_init(text, 2)
    asked = {"full": ".full." in name, "tails": ".tail." in name, "iterations": 50}
    test = next(part for part in name.split(".") if part.startswith("osu_"))
    params = OsuParameters(test=test, validate_data="validate" in name, **asked)
    return osu.parse(text, params).values


def _read_netpipe(text, name):
    return netpipe.parse(text, netpipe.schedule(1, 65536, 3), 20)


def _read_hpl(text, name):
    try:
        found = hpl.parse(text)
    except hpl.UnfinishedError as error:
        raise json_lines.OutputError(str(error)) from error
    # As the check does: what ran must be what was asked.
    if (found.n, found.nb, found.p, found.q) != HPL_ASKED[name]:
        raise json_lines.OutputError(f"asked was {HPL_ASKED[name]}")
    return found


def _read_lines(text, name):
    output = json_lines.parse(text, PT2PT.metrics_by_name)
    if not output.ended or output.exit_status != 0 or len(output.metrics) != 4:
        raise json_lines.OutputError("the launch did not come to its end")
    return [(m.value, m.samples) for m in output.metrics]


HPL_ASKED = {
    "hpl-2.0.mpich.2ranks.txt": (2000, 128, 1, 2),
    "hpl-2.0.openmpi.1rank.txt": (2000, 128, 1, 1),
    "hpl-2.3.mpich.2ranks.txt": (200, 32, 1, 2),
}
READERS = {"osu": _read_osu, "netpipe": _read_netpipe, "hpl": _read_hpl}
FILES = {
    path.name: path
    for kind in READERS
    for path in sorted((CHECKS / kind / "samples").glob("*.txt"))
}
#: What a launcher adds when it ends a run at its time limit.
ENDED = re.compile(r"^srun: error: .*\n", re.MULTILINE)
WHOLE = {name: ENDED.sub("", path.read_text()) for name, path in FILES.items()}
WHOLE["json lines"] = JSON_LINES + "\n"


def _read(name, text):
    """The numbers of `text` as the reader of the sample `name` takes them, None if refused."""
    reader = READERS[FILES[name].parent.parent.name] if name in FILES else _read_lines
    try:
        return reader(text, name)
    except json_lines.OutputError:
        return None


def _data_lines(name, lines):
    """Places of the lines that carry numbers of the result."""
    if name == "json lines":
        return [place for place, line in enumerate(lines) if '"metric"' in line]
    if name.startswith("osu"):
        return [p for p, line in enumerate(lines) if re.match(r" *\d|nprocs", line)]
    if name.startswith("netpipe"):
        return [p for p, line in enumerate(lines) if "times -->" in line]
    return [p for p, line in enumerate(lines) if re.match(r"WR|\|\|Ax", line)]


samples = st.sampled_from(sorted(WHOLE))
measured = st.sampled_from(sorted(set(WHOLE) - {n for n in WHOLE if "hello" in n}))


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_sample_is_read(name):
    assert _read(name, WHOLE[name])


@pytest.mark.parametrize(
    "name", [name for name in FILES if "srun: error" in FILES[name].read_text()]
)
def test_a_whole_table_with_a_launcher_that_complains_is_refused_and_kept_as_partial(name):
    text = FILES[name].read_text()
    assert _read(name, text) is None
    kept = osu.parse_partial(text)
    assert kept == _read(name, WHOLE[name])


@pytest.mark.parametrize("name", WHOLE)
def test_a_sample_cut_at_any_line_is_refused(name):
    lines = WHOLE[name].splitlines(keepends=True)
    last = max(place for place, line in enumerate(lines) if line.strip())
    if name == "json lines":
        last = len(lines) - 1
    for kept in range(last):
        text = "".join(lines[:kept])
        assert _read(name, text) is None, text[-200:]


@given(measured, st.data())
@settings(deadline=None)
def test_a_sample_cut_within_its_last_line_of_data_is_refused(name, data):
    text = WHOLE[name]
    lines = text.splitlines(keepends=True)
    last = _data_lines(name, lines)[-1]
    start = sum(map(len, lines[:last]))
    kept = data.draw(st.integers(start, start + len(lines[last].rstrip()) - 1))
    assert _read(name, text[:kept]) is None


def _numbers(line):
    return list(re.finditer(r"(?<![\w.+|-])\d+(?:\.\d+)?(?:e[+-]\d+)?(?![\w.])", line))


WORDS = [
    "nan",
    "-nan",
    "inf",
    "-1.00",
    "-3",
    "12,50",
    "1.234,50",
    "0x1p3",
    "1e400",
    "1_000",
    "",
    "٣",
]


@given(measured, st.sampled_from(WORDS), st.data())
@settings(deadline=None, max_examples=300)
def test_a_number_replaced_by_what_is_none_is_refused(name, word, data):
    if name == "json lines" and "," in word:
        return  # a comma divides JSON's numbers; our programs never leave the C locale
    lines = WHOLE[name].splitlines(keepends=True)
    place = data.draw(st.sampled_from(_data_lines(name, lines)))
    number = data.draw(st.sampled_from(_numbers(lines[place])))
    lines[place] = lines[place][: number.start()] + word + lines[place][number.end() :]
    assert _read(name, "".join(lines)) is None


@given(measured)
@settings(deadline=None)
def test_a_decimal_comma_everywhere_is_refused(name):
    lines = WHOLE[name].splitlines(keepends=True)
    for place in _data_lines(name, lines):
        lines[place] = re.sub(r"(\d)\.(\d)", r"\1,\2", lines[place])
    text = "".join(lines)
    if text != WHOLE[name]:
        assert _read(name, text) is None


def _swap(line, one, other):
    words = re.split(r"(\s+)", line)
    values = [place for place, word in enumerate(words) if re.match(r"\d|Pass", word)]
    one, other = values[one % len(values)], values[other % len(values)]
    words[one], words[other] = words[other], words[one]
    return "".join(words)


@given(samples, st.integers(0, 9), st.integers(0, 9))
@settings(deadline=None, max_examples=200)
def test_two_columns_swapped_are_refused_or_change_nothing(name, one, other):
    if name == "json lines":
        return
    lines = WHOLE[name].splitlines(keepends=True)
    for place in _data_lines(name, lines):
        lines[place] = _swap(lines[place], one, other)
    found = _read(name, "".join(lines))
    assert found is None or found == _read(name, WHOLE[name])


@given(samples, st.integers(0, 2**32))
@settings(deadline=None)
def test_two_ranks_that_write_into_each_other_are_refused(name, seed):
    dice = random.Random(seed)  # noqa: S311  not for secrets
    lines = WHOLE[name].splitlines(keepends=True)
    first, second = list(lines), list(lines)
    mixed = []
    while first or second:
        mixed.append((first or second if dice.random() < 0.5 else second or first).pop(0))
    assert _read(name, "".join(mixed)) is None


@given(samples, st.integers(0, 2**32))
@settings(deadline=None)
def test_a_line_mixed_into_another_is_refused(name, seed):
    dice = random.Random(seed)  # noqa: S311  not for secrets
    lines = WHOLE[name].splitlines(keepends=True)
    numbers = _data_lines(name, lines)
    if not numbers:
        return
    place = dice.choice(numbers)
    line = lines[place].rstrip("\n")
    at = dice.randrange(1, len(line))
    lines[place] = line[:at] + line + line[at:] + "\n"
    assert _read(name, "".join(lines)) is None


@given(st.binary(max_size=2000), samples)
@settings(deadline=None)
def test_anything_at_all_is_refused(noise, name):
    assert _read(name, noise.decode(errors="replace")) is None


@given(st.binary(min_size=1, max_size=40), measured, st.data())
@settings(deadline=None, max_examples=300)
def test_noise_in_a_line_of_data_gives_no_other_number(noise, name, data):
    lines = WHOLE[name].splitlines(keepends=True)
    place = data.draw(st.sampled_from(_data_lines(name, lines)))
    at = data.draw(st.integers(0, len(lines[place]) - 1))
    text = noise.decode(errors="replace")
    if re.search(r"[\d,.eE+-]", text):
        return
    lines[place] = lines[place][:at] + text + lines[place][at:]
    found = _read(name, "".join(lines))
    assert found is None or found == _read(name, WHOLE[name])
