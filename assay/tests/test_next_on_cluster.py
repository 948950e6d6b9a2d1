# SPDX-License-Identifier: Apache-2.0
"""Each `next:` that a screen shows is typed as it is, on a real cluster, and runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from assay.tests.test_run_on_cluster import SITE, campaign, pytestmark, the_run
from records.run.chain import read_seal
from records.run.extensions import read_plan
from reports.load.loading import load_run
from virtual_cluster import Cluster

__all__ = ["pytestmark"]
BIN = Path(sys.executable).parent
CASES = "  - check: startup\n    matrix: {ranks: [2]}\n"
ENVIRONMENT = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}


def typed(command: str) -> tuple[int, str]:
    """Status and output of a command line; a `next:` is broken over lines on a screen."""
    done = subprocess.run(
        ["bash", "-c", command],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def next_of(output: str) -> str:
    found = re.findall(r"^ *next: (.*(?:\n {8}\S.*)*)", output, re.MULTILINE)
    return " ".join(found[-1].split()) if found else ""


def test_a_run_of_one_block_leads_to_more_of_the_same_run_which_still_verifies(
    cluster: Cluster, folder: Path
) -> None:
    name = campaign(folder, "small", "mpich, lam", 1, CASES)
    status, output = typed(f"assay run {name} --site {SITE} --with distribution")
    assert status == 0, output
    path = the_run(folder, "small")
    before = (path / "records.jsonl").read_bytes()
    command = next_of(output)
    assert command == f"assay run --resume {path.name} --blocks 5"
    status, output = typed(command)
    assert status == 0, output
    run = load_run(path)
    assert (run.done, run.blocks, run.plan.blocks) == (12, 6, 6)
    assert (path / "records.jsonl").read_bytes().startswith(before)
    status, output = typed(f"assay verify {path}")
    assert status == 0, output
    status, output = typed(f"assay run --resume {path} --until decided --blocks 3")
    assert status == 0, output
    assert ("all that is asked is known" in output) == (read_plan(path / "plan.json").blocks == 6)
    assert typed(f"assay verify {path}")[0] == 0
    assert typed(f"assay status {path}")[0] == 0


def test_a_damaged_extension_breaks_the_chain(cluster: Cluster, folder: Path) -> None:
    name = campaign(folder, "added", "mpich", 1, CASES)
    assert typed(f"assay run {name} --site {SITE} --no-report")[0] == 0
    path = the_run(folder, "added")
    status, output = typed(f"assay run --resume {path} --blocks 1 --no-report")
    assert status == 0, output
    seal = read_seal(path)
    assert seal is not None and seal.records == 2
    file = path / "extensions.jsonl"
    file.write_text(file.read_text().replace('"interims":[2]', '"interims":[3]'))
    status, output = typed(f"assay verify {path}")
    assert status == 1 and "the chain is broken" in output


def test_a_night_leads_to_the_next_one_with_its_path_cluster_and_history(
    cluster: Cluster, folder: Path
) -> None:
    name = campaign(folder, "night", "mpich", 3, CASES)
    status, output = typed(
        f"assay nightly run --campaign {name} --site {SITE} --history 'h 1.sqlite'"
    )
    assert status in (0, 3), output
    command = next_of(output)
    assert (
        command == f"assay nightly run --campaign night.yaml --site {SITE} --history 'h 1.sqlite'"
    )
    status, output = typed(command)
    assert status in (0, 3), output
    assert len([*(folder / "results" / "night").iterdir()]) >= 2
