# SPDX-License-Identifier: Apache-2.0
"""Completion, asked for in a real bash; and `assay --version`."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from assay import criteria_files
from assay.cli import main
from assay.cli.main import COMMANDS, plugin_commands
from assay.schema import campaign_names
from assay.sites.site_file import SITES
from checks.common.registry import CHECKS

#: Arguments: the words of a command line, the last one to be completed. Prints what is offered.
ASKING = """\
source ./script
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_shtab_assay
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(folder, monkeypatch):
    """Ask a real bash what it offers."""
    command = [Path(sys.executable).with_name("assay"), "--print-completion", "bash"]
    script = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (folder / "script").write_text(script)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")

    def ask(*words: str) -> set[str]:
        command = ["bash", "-c", ASKING, "bash", *words]
        offered = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return set(offered.stdout.split())

    return ask


@pytest.mark.full
def test_commands_options_and_their_values(complete):
    assert complete("assay", "") == {*COMMANDS, *plugin_commands()}
    assert complete("assay", "st") == {"status"}
    assert complete("assay", "nightly", "accept") == {"accept-change"}
    assert complete("assay", "report", "--f") == {"--format"}
    assert complete("assay", "report", "--format", "p") == {"parquet", "pdf"}
    assert complete("assay", "cluster", "up", "--") >= {"--nodes", "--network", "--switches"}


@pytest.mark.full
def test_names_of_what_there_is(complete, tmp_path):
    assert complete("assay", "plan", "") == set(campaign_names())
    sites = {path.parent.name for path in SITES.glob("*/site.yaml")}
    assert complete("assay", "run", "quick", "--site", "") == sites
    assert complete("assay", "accept", "--criteria", "") == set(criteria_files())
    assert complete("assay", "checks", "") == set(CHECKS)
    for run in ("20261120T000000Z-0001", "$(touch harm)"):
        (tmp_path / "results" / "quick" / run).mkdir(parents=True)
        (tmp_path / "results" / "quick" / run / "plan.json").touch()
    assert complete("assay", "run", "--resume", "") == {"20261120T000000Z-0001"}
    assert not (tmp_path / "harm").exists()


def test_nothing_is_offered_where_a_number_or_text_stands(complete):
    assert complete("assay", "nightly", "show", "--nothing-like-it") == set()
    assert not complete("assay", "cluster", "up", "--nodes", "") & set(COMMANDS)
    assert not complete("assay", "cluster", "status", "") & {"up", "down", "status"}


def test_version_is_the_installed_one(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"assay {metadata.version('assay')}\n"
