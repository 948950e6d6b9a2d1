# SPDX-License-Identifier: Apache-2.0
"""Completion, asked for in a real bash and a real zsh; and `assay --version`."""

import os
import shutil
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
ASKING = {
    "bash": """\
source ./script
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_shtab_assay
printf '%s\\n' "${COMPREPLY[@]}"
""",
    # zsh completes in its line editor only: one in a pseudo-terminal gets the line and a Tab.
    "zsh": """\
cat > setup.zsh <<'END'
autoload -Uz compinit && compinit -u -D
eval "$(cat ./script)"
compadd() { builtin compadd -O found "$@"; print -rl -- $found >> offered; builtin compadd "$@" }
comppostfuncs=(completed)
completed() { print -- COMPLETED }
print -- READY
END
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./setup.zsh'
zpty -r shell seen $'*\\nREADY*'
zpty -w -n shell "$*"$'\\t'
zpty -r shell seen '*COMPLETED*'
cat offered
""",
}


@pytest.fixture(params=["bash", "zsh"], scope="module")
def shell_and_script(request):
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}: make packages, as root")
    command = [Path(sys.executable).with_name("assay"), "--print-completion", shell]
    return shell, subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def complete(shell_and_script, folder, monkeypatch):
    shell, script = shell_and_script
    (folder / "script").write_text(script)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")

    def ask(*words: str) -> set[str]:
        (folder / "offered").unlink(missing_ok=True)
        command = [shell, "-c", ASKING[shell], shell, *words]
        offered = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, timeout=600
        )
        return set(offered.stdout.split())

    return ask


@pytest.mark.full(sample=1)
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
