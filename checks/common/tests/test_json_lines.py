# SPDX-License-Identifier: Apache-2.0
"""JSON lines of session and programs among foreign text, and what is not believed."""

import json
import re
from pathlib import Path
from socket import gethostname

import msgspec
import pytest

from checks.common import json_lines
from checks.common.json_lines import TOKEN, OutputError, session_lines
from checks.common.registry import CHECKS
from checks.common.session.launch_commands import FORWARDED
from checks.common.sources import LIBRARY
from checks.common.tests.judged import OURS, Launch, evidence_of
from checks.common.tests.program_runs import COMPILERS, built_programs, ran, require


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
    ran(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / locale["LC_ALL"]])
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
        before, line, after = lines[:place], lines[place], lines[place + 1 :]
        spoiled = [[*before, line[:length], *after] for length in (9, 20, len(line) - 1)]
        spoiled += [[*before[:-1], one + line, *after] for one in before[-1:]]
        for damaged in ([*before, *after], *spoiled):
            assert launch.outcome("\n".join(damaged)).status in ("wrong", "failed"), damaged


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
