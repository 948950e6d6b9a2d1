# SPDX-License-Identifier: Apache-2.0
"""Real output of each of our programs is believed, and none in which an answer was changed is."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checks.common import json_lines
from checks.common.registry import CHECKS
from checks.common.sources import CHECKS as FOLDER
from checks.su3_rmd.run import read_own

#: Output of real launches; beside each, the parameters that were asked.
OWN = {"netpipe", "osu", "hpl"} ^ CHECKS.keys()
SAMPLES = [file for name in sorted(OWN) for file in sorted(FOLDER.glob(f"{name}/samples/*.json"))]
#: Mutations of each sample.
TIMES = 200

#: Values that nothing else in the output depends on.
FREE = {
    "pair_latency",
    "pair_bandwidth",
    "half_round_trip_loop",
    "bandwidth_loop",
    "pack_time",
    "send_time",
    "wait_time",
    "unpack_time",
    "copy_time",
    "init",
    "first_instruction",
    "all_heard",
    "exchange_time",
    "overlap",
    "availability",
    "datagrams_lost",
    "residual",
    "stream_rate",
    "total_time",
    "warmup_time",
}
#: Metrics whose every sample enters a value that is printed: by a mean or a sum.
EVERY_SAMPLE = {"half_round_trip", "ring_turn"}

Line = dict[str, Any]
Mutation = Callable[[list[Line], random.Random], bool]


class Sample:
    """One launch: the check, what was asked, and what was printed."""

    def __init__(self, params_file: Path) -> None:
        self.definition = CHECKS[params_file.parents[1].name]
        self.params = self.definition.parameters.model_validate_json(params_file.read_text())
        name = params_file.name.replace(".params.json", ".out")
        self.text = params_file.with_name(name).read_text()

    def refusal(self, text: str) -> str | None:
        """Why the check refuses `text`, or None."""
        try:
            output = json_lines.parse(text, self.definition.metrics_by_name)
            if output.wrong or output.errors or not output.ended or output.exit_status != 0:
                return "did not end well"
            if self.definition.name == "su3_rmd":
                return read_own(self.params, output, text).wrong
            return self.definition.read(self.params, output).wrong
        except json_lines.OutputError as error:
            return str(error)

    def changed(self, mutate: Mutation, dice: random.Random) -> str | None:
        """The text with its metric lines changed; None where the mutation has nothing to change."""
        lines: list[Any] = self.text.splitlines()
        places = [i for i, line in enumerate(lines) if line.startswith('{"assay":"metric"')]
        metrics = [json.loads(lines[place]) for place in places]
        if not mutate(metrics, dice):
            return None
        printed = [json.dumps(metric, separators=(",", ":")) for metric in metrics]
        rest = [line for i, line in enumerate(lines) if i not in places]
        return "\n".join([*rest[:2], *printed, *rest[2:], ""])


def name_of(path: Path) -> str:
    return f"{path.parents[1].name}-{path.name.removesuffix('.params.json')}"


def test_every_own_program_has_a_sample():
    assert {path.parents[1].name for path in SAMPLES} == OWN


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_real_output_is_believed(path):
    sample = Sample(path)
    assert sample.refusal(sample.text) is None


def bound(metrics: list[Line]) -> list[Line]:
    """Lines whose value follows from others."""
    return [metric for metric in metrics if metric["name"] not in FREE]


def drop(metrics, dice):
    metrics.remove(dice.choice(metrics))
    return True


def double(metrics, dice):
    metrics.insert(dice.randrange(len(metrics)), dict(dice.choice(metrics)))
    return True


def double_with_another_value(metrics, dice):
    one = dice.choice(metrics)
    metrics.append({**one, "value": one["value"] * 2})
    return True


def move(metrics, dice):
    """Another number or word at one point."""
    placed = [metric for metric in metrics if "at" in metric]
    if not placed:
        return False
    at = dice.choice(placed)["at"]
    key = dice.choice(sorted(at))
    at[key] = at[key] + dice.choice([1, 7, 0.5]) if isinstance(at[key], int) else f"{at[key]}'"
    return True


def move_all(metrics, dice):
    """Every size becomes 7."""
    sized = [metric["at"] for metric in metrics if "message_bytes" in metric.get("at", {})]
    for at in sized:
        at["message_bytes"] = 7
    return bool(sized)


def rename_word_everywhere(metrics, dice):
    words = sorted(
        {v for m in metrics for v in m.get("at", {}).values() if isinstance(v, str) and v}
    )
    if not words:
        return False
    word = dice.choice(words)
    for at in (metric.get("at", {}) for metric in metrics):
        at.update({key: "Bsend/Recv" for key, value in at.items() if value == word})
    return True


def forget_or_add_a_key(metrics, dice):
    one = dice.choice(metrics)
    if "at" in one and dice.random() < 0.5:
        del one["at"][dice.choice(sorted(one["at"]))]
    else:
        one["at"] = {**one.get("at", {}), "run": 1}
    return True


def drop_a_metric(metrics, dice):
    name = dice.choice(metrics)["name"]
    metrics[:] = [metric for metric in metrics if metric["name"] != name]
    return True


def rename_a_metric(metrics, dice):
    one = dice.choice(metrics)
    one["name"] = dice.choice(sorted({m["name"] for m in metrics} - {one["name"]} or {"speed"}))
    return True


def scale(metrics, dice):
    one = dice.choice(bound(metrics) or [None])
    if one is None or one["value"] == 0:
        return False
    one["value"] *= dice.choice([1e-3, 0.5, 0.999, 1.001, 2, 10, 1000])
    return True


def scale_a_metric(metrics, dice):
    """All values of one metric and not their samples, as 1000 × the half round trips."""
    chosen = dice.choice(bound(metrics) or [None])
    if chosen is None or chosen["name"] == "counting_time":  # only its ratios are printed too
        return False
    for metric in metrics:
        if metric["name"] == chosen["name"]:
            metric["value"] *= 1000
    return chosen["value"] != 0


def swap(metrics, dice):
    """The values of two points."""
    found = bound(metrics)
    pairs = [(a, b) for a in found for b in found if a["unit"] == b["unit"]]
    pairs = [(a, b) for a, b in pairs if abs(a["value"] / (b["value"] or 1) - 1) > 1e-6]
    if not pairs:
        return False
    one, other = dice.choice(pairs)
    one["value"], other["value"] = other["value"], one["value"]
    return True


def change_a_sample(metrics, dice):
    found = [metric for metric in metrics if metric["name"] in EVERY_SAMPLE and "samples" in metric]
    if not found:
        return False
    samples = dice.choice(found)["samples"]
    samples[dice.randrange(len(samples))] *= dice.choice([0.5, 1.01, 3])
    return True


def change_all_samples(metrics, dice):
    found = [metric for metric in metrics if "samples" in metric]
    if not found:
        return False
    one = dice.choice(found)
    one["samples"] = [sample * dice.choice([1.01, 3]) for sample in one["samples"]]
    return True


def change_the_number_of_samples(metrics, dice):
    one = dice.choice(metrics)
    samples = one.setdefault("samples", [])
    if samples and dice.random() < 0.5:
        samples.pop(dice.randrange(len(samples)))
    else:
        samples.append(dice.choice([*samples, one["value"] or 1.0]))
    return True


def forget_the_samples(metrics, dice):
    found = [metric for metric in metrics if "samples" in metric]
    if not found:
        return False
    del dice.choice(found)["samples"]
    return True


def no_number(metrics, dice):
    dice.choice(metrics)["value"] = dice.choice([None, True, "1", [], -1.0, float("nan"), 1e300])
    return True


def another_unit(metrics, dice):
    dice.choice(metrics)["unit"] = dice.choice(["ms", "MB/s", "", None])
    return True


def a_metric_of_another_check(metrics, dice):
    own = {metric["name"] for metric in metrics}
    name = "ring_time" if "half_round_trip" in own else "half_round_trip"
    metrics.append({"assay": "metric", "name": name, "unit": "s", "value": 1e-6})
    return True


MUTATIONS: list[Mutation] = [
    drop,
    double,
    double_with_another_value,
    move,
    move_all,
    rename_word_everywhere,
    forget_or_add_a_key,
    drop_a_metric,
    rename_a_metric,
    scale,
    scale_a_metric,
    swap,
    change_a_sample,
    change_all_samples,
    change_the_number_of_samples,
    forget_the_samples,
    no_number,
    another_unit,
    a_metric_of_another_check,
]


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_no_changed_answer_is_believed(path):
    sample, dice = Sample(path), random.Random(path.name)  # noqa: S311  not for secrets
    tried = 0
    for _ in range(TIMES):
        mutate = dice.choice(MUTATIONS)
        text = sample.changed(mutate, dice)
        if text is not None:
            tried += 1
            assert sample.refusal(text), f"{mutate.__name__}:\n{text}"
    assert tried > TIMES / 4


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_a_program_that_ran_with_other_settings_gives_no_answer(path):
    sample = Sample(path)
    (line,) = re.findall(r'^\{"assay":"program".*$', sample.text, re.MULTILINE)
    options = sample.definition.options(sample.params)
    for name, value in json.loads(line)["settings"].items():
        if name not in options:
            continue
        entry = json.loads(line)
        if isinstance(value, bool):
            entry["settings"][name] = not value
        elif isinstance(value, int | float):
            entry["settings"][name] = value + 1
        else:
            entry["settings"][name] = value[:-1]
        said = sample.refusal(sample.text.replace(line, json.dumps(entry)))
        assert said is not None, name
        assert f"ran with {name} = " in said


def refusal(check: str, variant: str, change: Callable[[str], str]) -> str | None:
    sample = Sample(FOLDER / check / "samples" / f"{variant}.params.json")
    text = change(sample.text)
    assert text != sample.text
    return sample.refusal(text)


#: A line that no check but the echoes prints.
STRANGER = '{"assay":"metric","name":"half_round_trip","unit":"s","value":1e-06}'


@pytest.mark.parametrize(
    ("check", "variant", "pattern", "changed", "said"),
    [
        (
            "pt2pt",
            "mpich",
            r'"message_bytes":\d+',
            '"message_bytes":7',
            r"metric half_round_trip at \{.*\} is printed twice",
        ),
        (
            "ring",
            "lam",
            '"order":"gray"',
            '"order":"natural"',
            "6 of 6 values are missing: ring_turn at order=gray message_bytes=8;"
            " ring_time at order=gray message_bytes=8; ring_rate at order=gray message_bytes=8",
        ),
        (
            "pt2pt",
            "mpich",
            r'(?m)^.*"name":"bandwidth".*\n',
            "",
            "4 of 32 values are missing: bandwidth at construct=Send/Recv message_bytes=1;.*",
        ),
        (
            "bisection",
            "openmpi",
            r'(_rate","unit":"bytes/s","value":)',
            r"\g<1>1",
            r"bisection_rate is \S+; by its samples it must be \S+",
        ),
        (
            "echo",
            "tcp.openmpi",
            r'("bandwidth","unit":"bytes/s","value":)',
            r"\g<1>1",
            r"bandwidth at message_bytes=\d+ is \S+; by the other values it must be \S+",
        ),
        (
            "startup",
            "mpich",
            '{"assay":"end"',
            f'{STRANGER}\n{{"assay":"end"',
            "this check reports no metric 'half_round_trip' in 's'",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_point(check, variant, pattern, changed, said):
    found = refusal(check, variant, lambda text: re.sub(pattern, changed, text))
    assert re.fullmatch(said, str(found))


@pytest.mark.parametrize("stamp", ["launch_begin", "launch_end", "boot_begin", "halt_end"])
def test_a_phase_that_was_not_stamped_makes_a_start_up_wrong(stamp):
    line = rf'(?m)^\{{"assay":"stamp","name":"{stamp}".*\n'
    assert refusal("startup", "lam", lambda text: re.sub(line, "", text))


@pytest.mark.parametrize(("name", "value"), [("all_heard", 100), ("first_instruction", 60)])
def test_parts_of_a_start_up_lie_within_the_whole(name, value):
    said = refusal(
        "startup",
        "mpich",
        lambda text: re.sub(
            rf'("name":"{name}","unit":"s","value":)[\d.e-]+', rf"\g<1>{value}", text
        ),
    )
    assert re.match(rf"{name} (took|is) {value} s[,;] ", str(said))
