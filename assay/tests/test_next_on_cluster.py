# SPDX-License-Identifier: Apache-2.0
"""Each `next:` that a screen shows is typed as it is, on a real cluster, and runs."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.tests.test_run_on_cluster import CLUSTER, HEAD, SITE, campaign, the_run
from assay.tests.test_run_on_cluster import of_full as pytestmark
from records.history.store import Store
from reports.analysis.races import judge_after
from reports.load.loading import load_run
from reports.verdicts.nightly.evidence import read_night
from virtual_cluster.api import Cluster
from virtual_cluster.tests.clusters import needs_own_python

__all__ = ["pytestmark"]
BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
CASES = "  - check: startup\n    matrix: {ranks: [2]}\n"
QUICK = HEAD.format(name="quick", environments="mpich", blocks=1, launch_s=400, variants="") + CASES
ENVIRONMENT = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1"}
#: The start of a shell of the cluster's own user, in which Slurm's commands are found.
USERS_SHELL = f"export PATH={BIN}:$PATH NO_COLOR=1; cd ~/mine 2>/dev/null || cd ~; "


def typed(
    command: str, cluster: Cluster | None = None, answers: str = "", ends: Container[int] = (0,)
) -> str:
    """The output of a command line that ends with such a status, by the user of a cluster or here;
    with `answers` on a terminal. A `next:` is broken over lines on a screen."""
    argv = ["bash", "-c", command]
    if answers:
        argv = ["script", "-qec", shlex.join(argv), "/dev/null"]
    if cluster is not None:
        argv = cluster.user_command(["bash", "-c", f"{USERS_SHELL}exec {shlex.join(argv)}"])
    how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run(argv, env=ENVIRONMENT, input=answers, check=False, **how)
    output = f"{done.stdout}{done.stderr}".replace("\r", "")
    assert done.returncode in ends, output
    return output


def next_of(output: str) -> str:
    found = re.findall(r"^ *next: (.*(?:\n {8}\S.*)*)", output, re.MULTILINE)
    return " ".join(found[-1].split()) if found else ""


def test_a_run_of_one_block_leads_to_more_of_the_same_run_which_still_verifies(cluster, folder):
    name = campaign(folder, "small", "mpich, lam", 1, CASES)
    command = next_of(typed(f"assay run {name} --site {SITE} --with distribution"))
    path = the_run(folder, "small")
    records = (path / "records.jsonl").read_bytes()
    assert command == f"assay run --resume {path.name} --blocks 5"
    typed(command)
    run = load_run(path)
    assert (run.done, run.blocks, run.plan.blocks) == (12, 6, 6)
    assert (path / "records.jsonl").read_bytes().startswith(records)
    typed(f"assay verify {path}")
    output = " ".join(typed(f"assay run --resume {path} --until decided --blocks 3").split())
    run = load_run(path)
    *before, last = run.interims
    found = judge_after(replace(run, interims=tuple(before)), last.block)
    assert found.open == last.open
    assert ("all that is asked is known" in output) == (not found.open)
    assert found.open or last.ended == "answered"
    typed(f"assay verify {path}")
    typed(f"assay status {path}")


CRITERIA = """\
schema: 1
name: mine
title: Mine
reruns_at_most: 1
criteria:
  - {id: time, kind: limit, title: T, check: startup, metric: init, at_most: 1000, unit: s}
  - {id: spread, kind: spread, title: S, check: startup, metric: init, cv_at_most: 1e-9}
"""


def test_a_suspect_leads_to_a_rerun_that_decides(cluster: Cluster, folder: Path) -> None:
    path = folder / "campaigns" / "criteria" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(CRITERIA)
    name = campaign(folder, "judged", "mpich", 3, CASES, variants="judged_by: {virtual: mine}")
    command = next_of(typed(f"assay run {name} --site {SITE}"))
    run = the_run(folder, "judged").name
    assert command == f"assay accept {run}"
    command = next_of(typed(command, ends=(3,)))
    assert command == f"assay accept results/judged/{run} --rerun"
    assert "confirmed" in typed(command, ends=(1,))


def test_a_slower_night_leads_to_fresh_launches_and_those_to_its_acceptance(cluster, folder):
    """Thirty earlier nights are a thousandth of a real one: no load makes its launches as fast."""
    name = campaign(folder, "night", "mpich", 3, CASES)
    typed(f"assay run {name} --site {SITE} --no-report")
    path = the_run(folder, "night")
    night, values = read_night(path)
    rng = np.random.default_rng(1)
    with Store(folder / "h 1.sqlite", create=True) as store:
        for day in range(1, 31):
            before = replace(night, run_id=f"night-{day}", started_at=f"2026-10-{day:02}T02:00:00Z")
            lesser = [
                replace(one, launches=tuple(rng.normal(1, 0.01) * v / 1000 for v in one.launches))
                for one in values
            ]
            store.add(before, lesser)
    typed(f"assay nightly add {path} --history 'h 1.sqlite'")
    command = next_of(typed("assay nightly check --history 'h 1.sqlite'", ends=(3,)))
    assert command.startswith("assay nightly check --rerun --campaign night --site virtual")
    command = next_of(typed(command, ends=(1,)))
    assert re.fullmatch(r"assay nightly accept-change [\d ]+ --history 'h 1.sqlite'", command)
    typed(command, answers="a new switch\n")


@needs_own_python()
def test_a_folder_of_ones_own_leads_to_a_site_and_that_to_its_first_run(cluster: Cluster) -> None:
    cluster.show([ROOT, *map(Path, (sys.prefix, sys.base_prefix))])
    home = Path(typed("pwd", cluster).strip())
    command = next_of(typed("assay site folder mine", cluster))
    assert command == "cd mine && assay site init"
    command = next_of(typed(f"cd ~; {command}", cluster, answers="\n" * 40))
    assert command == f"assay run quick --site assay-{CLUSTER}"
    (home / "mine" / "campaigns" / "quick.yaml").write_text(QUICK)
    typed(command, cluster)
