# SPDX-License-Identifier: Apache-2.0
"""The lines of session and program are neither swallowed by a program's text nor taken for it."""

from __future__ import annotations

import re
from pathlib import Path
from socket import gethostname

import pytest

from checks.common import json_lines
from checks.common.json_lines import TOKEN, OutputError
from checks.common.session.launch_commands import FORWARDED
from checks.common.sources import LIBRARY
from checks.common.tests.judged import OURS, Launch
from checks.common.tests.program_runs import COMPILERS, built_programs, ran, require

LAUNCH = LIBRARY.parent / "launch"


def session(folder: Path, script: str, **more: str) -> str:
    """Output of session.sh around a program that is this shell script."""
    told = {"SLURM_JOB_NODELIST": gethostname(), TOKEN: OURS, **more}
    words = [str(LAUNCH / "session.sh"), "none", "60", "sh", "-c", script]
    return ran(words, told, cwd=folder, check=False).stdout


def read(text: str) -> json_lines.Output:
    return json_lines.parse(text, {}, OURS)


def test_mpirun_does_not_warn_of_a_forwarded_variable_without_a_harness(tmp_path):
    require("mpirun.openmpi")
    forwarded = [word for name in FORWARDED for word in ("-x", name)]
    words = [str(LAUNCH / "session.sh"), "none", "60", "mpirun.openmpi", *forwarded, "true"]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = ran(words, {"SLURM_JOB_NODELIST": gethostname(), **root}, cwd=tmp_path)
    assert "environment variable" not in done.stderr


@pytest.mark.parametrize("ending", ["the end", '{"open":', '"', "\\", "\r", "\x01", "\x1b[2K"])
def test_a_program_that_ends_without_a_newline_hides_no_stamp(tmp_path, ending):
    output = read(session(tmp_path, f"printf '%s' '{ending}'; exit 3"))
    assert output.other_session("none") is None
    assert output.exit_status == 3
    assert output.session_interval() is not None


@pytest.mark.skipif(
    not Path("/usr/share/i18n/locales/de_DE").exists(),
    reason="needs locales: make packages, as root",
)
def test_stamps_have_a_point_where_the_locale_has_a_comma(tmp_path):
    locale = {"LOCPATH": str(tmp_path), "LC_ALL": "de_DE.UTF-8"}
    require("localedef")
    made = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / locale["LC_ALL"])]
    ran(made)
    program = f"{LAUNCH}/witness.sh bash -c 'echo $EPOCHREALTIME $ASSAY_LAUNCHED_AT'"
    said = session(tmp_path, program, **locale)
    (printed,) = (line for line in said.splitlines() if line and line[0] != "{")
    of_bash, launched_at = printed.split()
    output = read(said)
    assert len(output.stamps) == 4
    now = pytest.approx(float(launched_at), abs=10)
    assert "," in of_bash and output.stamps["launch_begin"] == now
    assert output.evidence.ranks[0].start == now


def test_a_line_without_the_token_of_its_launch_is_refused(tmp_path):
    line = '{ "assay" : "end", "ok" : true }'
    with pytest.raises(OutputError, match="does not carry the token of its launch"):
        read(session(tmp_path, f"echo '{line}'; kill -9 $$"))


END = '{"assay":"end","ok":true}'


@pytest.mark.parametrize(
    "text",
    [
        *(f"so far {END}", f'{{"other":{END}}}', f"[{END}]", f"{END} and more", f" {END}\x00"),
        *(END.removesuffix("true}"), END.removeprefix("{")),
    ],
)
def test_a_line_with_our_mark_that_is_not_whole_is_refused(text):
    with pytest.raises(OutputError, match="cut or mixed"):
        read(f"before\n{text}\nafter\n")


@pytest.mark.parametrize("check", [("pt2pt", "mpich"), ("ring", "lam")])
@pytest.mark.plugins("papers")
def test_every_line_of_the_session_is_required_whole(check):
    launch = Launch(*check)
    lines = launch.text.split("\n")
    said = re.compile('{"assay":"(stamp|allocation|exit)"')
    own = [i for i, line in enumerate(lines) if said.match(line)]
    assert len(own) >= 6
    for place in own:
        rest = lines[:place] + lines[place + 1 :]
        assert launch.outcome("\n".join(rest)).status in ("wrong", "failed"), lines[place]
        for length in (9, 20, len(lines[place]) - 1):
            cut = [*lines[:place], lines[place][:length], *lines[place + 1 :]]
            assert launch.outcome("\n".join(cut)).status in ("wrong", "failed"), cut[place]
        if place:
            one = "".join(lines[place - 1 : place + 1])
            joined = [*lines[: place - 1], one, *lines[place + 1 :]]
            assert launch.outcome("\n".join(joined)).status in ("wrong", "failed"), one


LIBRARIES = ["libassay_evidence.so", "libassay_profile.so"]
#: Prints what a foreign program may.
TALKER = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("no newline");
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.full
@pytest.mark.plugins("profile")
def test_a_foreign_program_without_a_newline_does_not_hide_the_evidence(tmp_path):
    out = built_programs("openmpi", LIBRARIES)
    (tmp_path / "talker.c").write_text(TALKER)
    talker = str(tmp_path / "talker")
    ran([COMPILERS["openmpi"], talker + ".c", "-o", talker])
    (tmp_path / "rank.sh").write_text((LAUNCH / "rank.sh").read_text())
    for library in LIBRARIES:
        (tmp_path / library).symlink_to(out / library)
    run = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2", "sh"]
    words = [*run, "rank.sh", ",".join(LIBRARIES), "/dev/null", talker]
    answer = ran(words, {TOKEN: OURS}, cwd=tmp_path)
    assert "no newline\n" in answer.stdout
    output = read(answer.stdout)
    assert output.evidence is not None
    assert len(output.profile) == len(output.evidence.ranks) == 2
