# SPDX-License-Identifier: Apache-2.0
"""What a launch of a suite's class costs in a session of Assay over plain ReFrame (goal: 0.1 s).

The class starts `true`. Sessions of `reframe -r` and of Assay alternate, each with the same number
of launches, one after the other, with the same poll rates, on one core of this machine and without
Slurm, which takes the same for both. The job of each launch writes when it begins: the time from
one to the next is the launch with all that belongs to it; the start of ReFrame is not in it.

python -m bench suite_overhead [SESSIONS LAUNCHES].
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.plan import make_plan
from assay.plan.suites import with_suites
from assay.schema.loading import campaign_from_text
from assay.sites.loading import load_site
from assay.tests.test_suite_outcomes import SETTINGS, session
from assay.tests.test_suites import SITE
from bench.overhead import gap_row
from bench.rows import Row
from checks.common.session.settings import POLLS

RUNS = {"usual": (5, 30)}
#: Most seconds that a launch may cost over ReFrame's own.
GOAL_S = 0.1
_SUITE = """
import reframe as rfm

@rfm.simple_test
class Begins(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"
    prerun_cmds = ["echo ${{EPOCHREALTIME/[!0-9]/.}} >>{stamps}"]

    @sanity_function
    def ended(self):
        return True
"""
_CAMPAIGN = """
schema: 1
name: begins
question: What does a launch cost?
environments: [mpich]
blocks: {launches}
seed: 1
cases:
  - reframe: {{file: suite.py, class: Begins}}
"""
_PLAIN = f"""
site_configuration = {{
    "systems": [{{
        "name": "here", "hostnames": [".*"],
        "partitions": [{{
            "name": "all", "scheduler": "local", "launcher": "local", "environs": ["mpich"],
        }}],
    }}],
    "environments": [{{"name": "mpich"}}],
    "general": [{POLLS}],
}}
"""


def rows(sessions: int, launches: int) -> Iterator[Row]:
    """Sessions of both, alternately; the medians, and their difference."""
    plain, ours = list[float](), list[float]()
    allowed = os.sched_getaffinity(0)
    with TemporaryDirectory(prefix="assay-bench-") as name:
        folder, stamps = Path(name), Path(name, "stamps")
        folder.chmod(0o755)
        (folder / "site-config" / "here").mkdir(parents=True)
        (folder / "site-config" / "here" / "site.yaml").write_text(SITE)
        (folder / "suite.py").write_text(_SUITE.format(stamps=stamps))
        (folder / "plain.py").write_text(_PLAIN)
        (folder / "ours.py").write_text(SETTINGS)
        with chdir(folder):
            site = load_site("here")
            text = _CAMPAIGN.format(launches=launches)
            campaign = campaign_from_text(str(folder / "c.yaml"), text)
            plan = make_plan(with_suites(campaign, site), site.facts())
            os.sched_setaffinity(0, {max(allowed)})
            for number in range(sessions):
                _plain(folder, launches)
                plain += _taken(stamps, launches)
                own = folder / f"session-{number}"
                own.mkdir()
                session(plan, own, folder / "ours.py")
                ours += _taken(stamps, launches)
            os.sched_setaffinity(0, allowed)
    yield gap_row("a launch by reframe -r", plain)
    yield gap_row("a launch by a session of Assay", ours)
    more = statistics.median(ours) - statistics.median(plain)
    kept = more <= GOAL_S
    yield Row("the second over the first", f"≤ {GOAL_S:g} s", f"{more:+.3f} s", kept, kept)


def _plain(folder: Path, launches: int) -> None:
    reframe = str(Path(sys.executable).with_name("reframe"))
    words = ["-r", "--exec-policy=serial", f"--repeat={launches}", f"--prefix={folder / 'plain'}"]
    command = [reframe, f"--config-file={folder / 'plain.py'}", "-c", str(folder / "suite.py")]
    report = f"--report-file={folder / 'report.json'}"
    done = subprocess.run(
        [*command, *words, report], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"reframe -r: {done.stdout[-3000:]}{done.stderr[-3000:]}")


def _taken(stamps: Path, launches: int) -> list[float]:
    """Seconds from the begin of each job of a session to that of the next; removes them."""
    found = [float(line) for line in stamps.read_text().split()]
    stamps.unlink()
    if len(found) != launches:
        raise RuntimeError(f"{len(found)} of {launches} launches began")
    return [after - before for before, after in pairwise(found)]
