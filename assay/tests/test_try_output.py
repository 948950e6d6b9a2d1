# SPDX-License-Identifier: Apache-2.0
"""`assay checks`: every check is listed and explained; `try`, and faults of commands in a campaign
file."""

import os
import re
from pathlib import Path

import pytest
import yaml

from assay.cli.main import main
from assay.plan.planner import make_plan
from assay.schema.loading import campaign_from_text, load_campaign
from assay.screens.try_output import try_command
from assay.sites.site import SiteFacts
from checks.common.command import CommandDefinition
from checks.common.registry import CHECKS
from records.errors import AssayError, ExitStatus
from records.run.rerun import rerun_campaign
from records.units import KNOWN

Capture = pytest.CaptureFixture[str]
CAMPAIGN = r"""
schema: 1
name: try
question: Does it work?
environments: [mpich]
cases:
  - name: copy
    command: ./copy {n}
    fixed: {n: 5}
    metrics: {copy_rate: {find: 'Copy +(\S+)', unit: MB/s}}
"""


def file_of(folder: Path, old: str = "", new: str = "") -> str:
    (folder / "try.yaml").write_text(CAMPAIGN.replace(old, new) if old else CAMPAIGN)
    return str(folder / "try.yaml")


def test_what_an_expression_catches_is_shown(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "out").write_text("Copy 5.5 MB/s\nwarm Copy 3 MB/s\n")
    assert try_command([file_of(tmp_path), str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out
    assert "line 2 caught '3'" in printed
    assert "2 matches, in lines 1, 2" in printed


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"(\S+)", r"\S+", r"try.yaml:10: cases\[0\].metrics.copy_rate.find: .*0 groups"),
        (r"Copy +(\S+)", r"Copy +(\S+", "at position"),
        ("MB/s", "parsecs", "unit: .*allowed are"),
        ("unit: MB/s", "unit: B", "better: higher"),
        ("{n}", "{n} {m}", "m"),
        ("name: copy", "name: pt2pt", "is a check of Assay; reserved are .*startup, storage"),
        (
            "copy_rate",
            "bandwidth",
            r"try.yaml:10: cases\[0\].metrics.bandwidth: .*another one of check .* copy_bandwidth",
        ),
        ("fixed:", "input: [missing.txt]\n    fixed:", "missing.txt: cannot be read"),
        ("fixed:", "input: [/dev/null]\n    fixed:", "allowed is a file of the campaign's folder"),
        ("fixed:", "input: [big]\n    fixed:", "more than 4 MB"),
        ("fixed:", "input: [pipe]\n    fixed:", "is a FIFO"),
        ("fixed:", "input: [try.yaml, ./try.yaml]\n    fixed:", "another file of this name"),
        ("fixed:", "input: [../x]\n    fixed:", "allowed is a file of the campaign's folder"),
        ("fixed:", "launch: none\n    ranks: 2\n    fixed:", "one process"),
        ("fixed:", "right: [1, 2]\n    fixed:", "one exit status"),
        ("{n: 5}", "{n: 5, k: 3}", "unknown key"),
        ("./copy {n}", "sh -c 'echo {n}'", "as an argument"),
        ("metrics:", "measures:", "metrics: is missing"),
    ],
)
def test_a_fault_of_a_command_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "big").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(AssayError, match=said):
        load_campaign(file_of(tmp_path, old, new))


def test_a_metric_may_be_printed_on_stderr(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "out").write_text("Copy 5.5 MB/s\n")
    campaign = file_of(tmp_path, "unit: MB/s", "unit: GUPS, from: stderr")
    assert try_command([campaign, str(tmp_path / "out")]) == 0
    assert "such a launch is ok: copy_rate 5.50 GUPS" in capsys.readouterr().out


@pytest.mark.plugins("papers")
def test_reserved_names_are_listed() -> None:
    metrics = {metric.name for check in CHECKS.values() for metric in check.metrics}
    _, _, said = Path("docs/your-benchmark.md").read_text().partition("## Reserved names")
    assert {*re.findall(r"`(\w+)`", said)} == metrics | CHECKS.keys()
    assert KNOWN in Path("docs/your-benchmark.md").read_text().replace("`", "").replace("\n ", "")


def test_a_file_may_be_a_link_and_a_source_an_input(tmp_path: Path) -> None:
    (tmp_path / "link.c").symlink_to("try.yaml")
    both = "build: cc link.c\n    sources: [link.c]\n    input: [link.c]\n    fixed:"
    campaign = file_of(tmp_path, "fixed:", both)
    check = load_campaign(campaign).checks["copy"]
    assert isinstance(check, CommandDefinition)
    check.write_files(tmp_path)
    assert (tmp_path / "link.c").read_text() == Path(campaign).read_text()


def test_what_to_try_is_said_where_it_is_missing(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="allowed are two"):
        try_command(["x"])
    with pytest.raises(AssayError, match="say which command"):
        try_command([file_of(tmp_path) + ":cpy", "out"])


def test_a_re_run_knows_the_command_of_its_run(tmp_path: Path) -> None:
    site = SiteFacts("s", 4, 1, 10**9, {"mpich": {"mpi"}})
    plan = make_plan(load_campaign(file_of(tmp_path)), site)
    asked = rerun_campaign(plan, {plan.cases[0].id: []}, name="r", question="?", blocks=1, seed=1)
    (tmp_path / "plan.json").write_text(plan.to_json())
    (tmp_path / "rerun.yaml").write_text(yaml.safe_dump(asked))
    again = make_plan(load_campaign(str(tmp_path / "rerun.yaml")), site)
    assert [case.id for case in again.cases] == [case.id for case in plan.cases]
    (tmp_path / "plan.json").unlink()
    with pytest.raises(AssayError, match="copy"):
        load_campaign(str(tmp_path / "rerun.yaml"))


def test_a_command_is_known_to_its_own_campaign_only(tmp_path: Path) -> None:
    ours = [*CHECKS]
    one = load_campaign(file_of(tmp_path))
    other = load_campaign(file_of(tmp_path, "copy\n", "cp\n"))
    assert ([*one.checks], [*other.checks]) == ([*ours, "copy"], [*ours, "cp"])
    assert [*CHECKS] == ours


def told(capsys, *words: str, status: ExitStatus = ExitStatus.PASS) -> str:
    assert main(["checks", *words]) == status
    return str(capsys.readouterr().out)


@pytest.mark.plugins("papers")
def test_every_check_is_listed_with_its_needs(capsys):
    lines = told(capsys).splitlines()
    assert [line.split()[0] for line in lines[1:-1] if line[2:3].strip()] == list(CHECKS)
    assert any(line.startswith("  pvm_echo  ") and line.endswith(" PVM") for line in lines)
    assert any("the site's osu" in line for line in lines)
    assert any("A message round a ring of all" in line for line in lines)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_is_explained_with_parameters_metrics_and_an_example_that_is_a_case(capsys, name):
    check, page = CHECKS[name], told(capsys, name)
    for one in (*check.parameters.model_fields, *check.metrics_by_name):
        assert f"\n  {one}" in page
    example = yaml.safe_load(page.partition("example, in a campaign file\n")[2])
    head = {"schema": 1, "name": "x", "question": "?", "environments": ["mpich"]}
    campaign = campaign_from_text("x.yaml", yaml.safe_dump({**head, **example}))
    assert [entry.check for entry in campaign.cases] == [name]


@pytest.mark.plugins("papers")
def test_an_unknown_check_is_told_what_there_is(capsys):
    assert main(["checks", "rings"]) == ExitStatus.BAD_INPUT
    told = "no check 'rings' (did you mean ring?); there are alltoall_pairs, "
    assert told in capsys.readouterr().err
