# SPDX-License-Identifier: Apache-2.0
"""What a job script gets of a list of launches is validated and quoted, the rest refused."""

import json
import os
from typing import Any

import msgspec
import pytest

from checks.common.session.launches import launch_test
from checks.common.session.outcome import Launch
from checks.common.sources import FURTHER_CHECKS
from checks.common.tests.dry_runs import dry_run, make_site, write_launches
from checks.common.tests.program_runs import ran
from checks.common.tests.test_folders import HELLO, write_check

LABEL = "$(touch /tmp/x) `id` 'quoted' & more; \\"

#: A check that runs a program of the site, with its reader beside it.
RUN = """
from checks.common.answer import Reading
from checks.common.base import MpiCheck

from .output import parse


class Run(MpiCheck):
    @property
    def foreign(self):
        return "other"

    def command(self):
        return [str(self.foreign_path), str(self.params.sums)]

    def came_to_its_end(self, output, text):
        return True

    def read(self, output, text):
        return Reading(parse(text))
"""
RING = {"ranks": 2, "ranks_per_node": 1}
GOOD: dict[str, Any] = {"case_id": "hello-12345678", "check": "hello", "environment": "mpich"}
GOOD |= {"params": {"label": LABEL}, **RING, "nodes": 2, "block": 1, "attempt": 1, "limit_s": 60.0}
#: What is changed in a launch, and what is said of it.
BAD: list[tuple[dict[str, Any], str]] = [
    ({"check": "hallo"}, "check: no check 'hallo'; allowed is alltoall_pairs, "),
    ({"params": {"sums": 0}}, "params.sums: Input should be greater than or equal to 1, found 0"),
    ({"params": {"sums": "1 --x"}}, "params.sums: Input should be a valid integer"),
    ({"params": {"other": 1}}, "params.other: Extra inputs are not permitted"),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """The job scripts of the good launches, and what was said of each bad one, by its index."""
    folder = tmp_path_factory.mktemp("launches")
    write_check(folder / "mine")
    write_check(folder / "mine", "other", HELLO.replace('"hello"', '"other"'))
    (folder / "mine" / "other" / "run.py").write_text(RUN)
    (folder / "mine" / "other" / "output.py").write_text("def parse(text):\n    return []\n")
    resources = {"gpu": ["--gres=gpu:{count}"], "memory": ["--mem={mb}M"]}
    make_site(folder, {"mpich": {"other": "/opt/an other/program"}}, resources=resources)
    asked = {"cpus_per_task": 3, "resources": {"gpu": {"count": 2}}}
    launches = [*(changes for changes, _ in BAD), asked, {"check": "other"}]
    write_launches(folder, ({**GOOD, **one, "index": i} for i, one in enumerate(launches)))
    read_end, write_end = os.pipe()
    more = {"ASSAY_OUTCOME_FD": str(write_end), FURTHER_CHECKS: str(folder / "mine")}
    options = ["--exec-policy=serial", "--keep-stage-files"]
    answer, scripts = dry_run(folder, "launches.py", *options, more=more, pass_fds=(write_end,))
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        outcomes = [json.loads(line) for line in pipe]
    launched = {stage.name[:8]: text for stage, text in scripts.items() if stage.name[0] == "L"}
    assert len(launched) == 2, answer.stdout[-3000:]
    ours, foreign = (launched[name] for name in sorted(launched))
    return ours, foreign, {one["launch_index"]: one for one in outcomes if one.get("status")}


def test_nodes_are_drawn_by_case_block_and_attempt_not_by_the_place_in_what_is_left():
    def drawn_by(**changes):
        asked = {**GOOD, "check": "startup", "params": RING, "index": 0, **changes}
        return launch_test(msgspec.convert(asked, Launch), {}, __name__).drawn_by

    assert drawn_by() == drawn_by(index=7) == "hello-12345678.1.1"
    others = [drawn_by(block=2), drawn_by(attempt=2), drawn_by(case_id="hello-1")]
    assert len({drawn_by(), *others}) == 4


@pytest.mark.parametrize("index", range(len(BAD)), ids=[said[:40] for _, said in BAD])
def test_a_launch_that_is_out_of_range_fails_and_is_not_started(session, index):
    outcome = session[2][index]
    assert outcome["status"] == "failed"
    assert outcome["reason"].startswith(f"launch {index} was refused: ")
    assert BAD[index][1] in outcome["reason"]


def test_cpus_and_resources_reach_the_job_and_its_threads(session):
    asking, plain = session[0], session[1]
    assert "#SBATCH --gres=gpu:2\n" in asking
    assert "#SBATCH --cpus-per-task=3\n" in asking
    assert "srun -n 2 --ntasks-per-node=1 --cpus-per-task=3 --mpi=pmi2" in asking
    assert "export OMP_NUM_THREADS=3\n" in asking
    assert "--mem" not in asking
    assert not any(word in plain for word in ("--gres", "cpus-per-task", "OMP_NUM_THREADS"))


def test_values_reach_the_job_script_quoted(session):
    (line,) = [line for line in session[0].splitlines() if "/out/hello" in line]
    words = ran(["bash", "-c", f"printf '%s\\0' {line.partition('srun')[2]}"]).stdout
    assert f"--label={LABEL}" in words.split("\0")


def test_a_check_outside_the_tree_may_have_a_class_and_a_reader_of_its_own(session):
    assert "./rank.sh libassay_evidence.so /dev/null '/opt/an other/program' 10\n" in session[1]
