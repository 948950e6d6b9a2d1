# SPDX-License-Identifier: Apache-2.0
"""The checks by ReFrame's own command line on a virtual cluster: two checks, two environments."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import ASSAY, CLUSTER, SITE
from assay.tests.test_run_on_cluster import pytestmark as on_cluster
from virtual_cluster.tests.clusters import needs_own_python

pytestmark = [*on_cluster, pytest.mark.usefixtures("cluster"), needs_own_python()]
REFRAME = str(Path(sys.executable).with_name("reframe"))
METRIC = re.compile(r'^{"assay":"metric",.*}$', re.M)


def test_reframe_runs_checks_and_reports_the_figures_that_they_printed(folder: Path) -> None:
    said = subprocess.run([ASSAY, "site", "reframe", SITE], check=True, capture_output=True)
    found = re.search(r"reframe (-C (\S+) -c \S+ -R) -l", said.stdout.decode())
    assert found, said.stdout
    options = ("-r", "-p", "^(mpich|lam)$", "-n", "pt2pt", "-n", "startup%ranks=2")
    words = [REFRAME, *found[1].split(), *options, "--keep-stage-files", "--nocolor"]
    words += ["-S", "pt2pt.sizes=[300,4800]", "-S", "pt2pt.iterations=20"]
    shell = [ASSAY, "cluster", "shell", "--name", CLUSTER, "--", *words]
    done = subprocess.run(shell, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    (report,) = Path(found[2]).parent.glob("reports/run-report-*.json")
    (run,) = json.loads(report.read_text())["runs"]
    cases = [one for one in run["testcases"] if not one["fixture"]]
    checks, environments = ("pt2pt", "startup %ranks=2"), ("lam", "mpich")
    assert {(one["name"], one["environ"]) for one in cases} == {
        (check, environment) for check in checks for environment in environments
    }
    for one in cases:
        assert one["result"] == "pass"
        (printed,) = Path(one["stagedir"]).glob("rfm_job.out")
        values = [json.loads(line)["value"] for line in METRIC.findall(printed.read_text())]
        assert values
        figures = {figure[0] for figure in one["perfvalues"].values()}
        assert {*values} <= figures
