# SPDX-License-Identifier: Apache-2.0
"""What carries a library's messages is told with its name wherever it is judged."""

import re
from html import unescape
from pathlib import Path

import pytest

from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.render import html, markdown, terminal
from reports.show.tables import RawLinks
from reports.tests import acceptance_runs
from reports.tests.synthetic import changed, quick_cases, write_run
from reports.tests.test_acceptance_judge import criteria
from reports.verdicts.acceptance.result import acceptance_result
from reports.verdicts.choice.result import choice_result
from reports.verdicts.comparison import compare, comparison_result

UCX, TCP = "ch4:ucx", "ch3:nemesis:tcp"


def over(run: Path, device: str) -> Path:
    """The run with what its mpich told of itself."""
    changed(run / "provenance.json", environments={"mpich": {"device": device}, "lam": {}})
    return run


def a_run(folder: Path, device: str = UCX) -> Path:
    return over(write_run(folder, quick_cases(("mpich", "lam")), blocks=3), device)


def accepted(folder: Path):
    run = over(acceptance_runs.write_run(folder / "run"), UCX)
    return acceptance_result(acceptance_runs.dossier(run, criteria()))


def chosen(folder: Path):
    return choice_result(analyse(load_run(a_run(folder / "run"))), [], RawLinks(".."))


def compared(folder: Path):
    return comparison_result(compare(a_run(folder / "a"), a_run(folder / "b")))


@pytest.mark.parametrize("judge", [chosen, accepted, compared])
def test_the_device_is_with_the_name_in_every_medium(tmp_path, judge):
    result = judge(tmp_path)
    page = unescape(html.page(result))
    assert re.search(rf"<span>mpich<small> {UCX}</small></span>", page)
    assert not re.search(r"<span>lam<small>", page)
    assert f"mpich {UCX}" in terminal.text(result)
    assert f"mpich {UCX}" in markdown.text(result).replace("\\", "")


def test_a_comparison_names_both_devices(tmp_path):
    found = comparison_result(compare(a_run(tmp_path / "a"), a_run(tmp_path / "b", TCP)))
    assert f"mpich {UCX} → {TCP}" in terminal.text(found)
