# SPDX-License-Identifier: Apache-2.0
"""`assay predict` prints its form and its sentences, and refuses what no run can answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from plugins.predict.tests.scaling_machine import machine_run

Capture = pytest.CaptureFixture[str]
Told = Callable[..., Any]


def test_the_form_of_a_prediction(told: Told, capsys: Capture) -> None:
    words = f"predict {machine_run(Path('results/quick/machine'), (1, 2, 4))}"
    further = "--nodes 64 --leave-out 4"
    found = told(f"{words} {further}")
    assert found["held_out"] == 2
    assert main(f"{words} {further}".split()) == 0
    assert f"{found['inside']} of 2 measured points that were left" in capsys.readouterr().out
    assert told(f"{words} --nodes 1000 --leave-out 2 --leave-out 4", 3)["missing"]
    for wrong in ("", "--nodes 0", "--leave-out 3", "--nodes 2 --environment x"):
        assert main(f"{words} {wrong}".split()) == 2
