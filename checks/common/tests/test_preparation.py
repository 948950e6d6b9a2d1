# SPDX-License-Identifier: Apache-2.0
"""The lines before every build, launch and probe, in a real shell as bare as cron's."""

from typing import Any

import pytest

from checks.common.session.launch_commands import NO_MODULE, preparation
from checks.common.tests.program_runs import ran

#: What ReFrame's build scripts begin with.
TRAP = "trap 'echo trapped; exit 1' ERR"
INIT = """\
false
module() {
    case "$1 $2" in
        "load good/1") export LOADED="$LOADED$2 " ;;
        "use /modules") export USED=$2 ;;
        *) return 1 ;;
    esac
}
"""
ENVIRONMENT: dict[str, Any] = {"modules": ["good/1"], "prepare": [], "variables": {}}


@pytest.fixture
def init(tmp_path):
    file = tmp_path / "init" / "bash"
    file.parent.mkdir()
    file.write_text(INIT)
    return file


def run(site, environment, last="echo ready", **variables):
    script = "\n".join([TRAP, *preparation(site, {**ENVIRONMENT, **environment}), last])
    bare = {"PATH": "/usr/bin:/bin", **variables}
    return ran(["/bin/bash", "-c", script], env=bare, check=False)


def site(init=None, system="lmod"):
    return {"modules_system": system, "module_init": init and str(init)}


def test_modules_are_loaded_where_the_shell_knows_none(init):
    asked = {"modules": ["good/1", "good/1"], "prepare": ["module use /modules"]}
    answer = run(site(init), asked, 'echo "$LOADED$USED"')
    assert (answer.stdout, answer.returncode) == ("good/1 good/1 /modules\n", 0)


@pytest.mark.parametrize("variable", ["LMOD_PKG", "MODULESHOME"])
def test_the_file_that_defines_module_is_found(init, variable):
    answer = run(site(), {"modules": []}, "type -t module", **{variable: str(init.parent.parent)})
    assert (answer.stdout, answer.returncode) == ("function\n", 0)


def test_a_shell_that_has_module_keeps_it(init):
    lines = ["module() { LOADED=mine; }", *preparation(site(init), ENVIRONMENT), "echo $LOADED"]
    assert ran(["bash", "-c", "\n".join(lines)], check=False).stdout == "mine\n"


def test_a_module_that_is_missing_ends_the_job_with_its_name(init):
    answer = run(site(init), {"modules": ["good/1", "gone/2"]})
    assert (answer.stdout, answer.returncode) == ("", NO_MODULE)
    assert answer.stderr.startswith("assay: module load gone/2 failed on ")


def test_commands_of_the_site_come_before_modules_and_variables_after(init):
    environment = {"prepare": ["LOADED='first '"], "variables": {"SEEN": "$LOADED"}}
    assert run(site(init), environment, 'echo "$SEEN"').stdout == "first good/1 \n"


def test_a_value_is_no_command(tmp_path):
    odd = "a $HOME ${HOME} $(touch x) `touch x` \" \\ ' ; touch x # $1 ${HOME:-$(touch x)}"
    last, asked = f'cd {tmp_path}; printf %s "$ODD"; ls', {"modules": [], "variables": {"ODD": odd}}
    answer = run(site(system="nomod"), asked, last, HOME="/h")
    assert answer.stdout == odd.replace("$HOME ", "/h ", 1).replace("${HOME} ", "/h ", 1)


def test_without_modules_nothing_is_sourced():
    assert preparation(site(system="nomod"), {**ENVIRONMENT, "modules": []}) == []


def test_spacks_modules_are_loaded_by_spack(tmp_path):
    file = tmp_path / "setup-env.sh"
    file.write_text('spack() { echo "spack $*"; }\n')
    answer = run(site(file, "spack"), {"modules": ["mpich@4.2"]})
    assert answer.stdout == "spack load mpich@4.2\nready\n"
