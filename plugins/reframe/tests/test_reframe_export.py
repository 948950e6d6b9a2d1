# SPDX-License-Identifier: Apache-2.0
"""ReFrame reads what Assay exports for it."""

import ast
import json
import sys
from pathlib import Path

import pytest

from assay.cli import main
from assay.tests.published_forms import published
from bench.tests.simulated.reframe_logs import write_logs
from checks.common.tests.program_runs import ran

STORED = Path(__file__).parents[3] / "reports/tests/stored_run"
INSERT = """
import sys
from reframe.core import config, runtime
site = config.load_config('<builtin>')
site.select_subconfig('generic')
site.add_sticky_option('storage/sqlite_db_file', './r.db')
runtime.init_runtime(site)
from reframe.frontend import reporting
from reframe.frontend.reporting.storage import StorageBackend
print(StorageBackend.default().store(reporting.restore_session(sys.argv[1])._report, sys.argv[1]))
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    assert main(["reframe", "export", str(STORED), "--output", str(folder)]) == 0
    return folder


def test_reframe_validates_and_lists_an_exported_run(exported: Path, tmp_path: Path) -> None:
    """`restore_session` validates by ReFrame's own schema."""
    stored = {"RFM_ENABLE_RESULTS_STORAGE": "1", "RFM_SQLITE_DB_FILE": "./r.db"}
    insert = [sys.executable, "-c", INSERT, str(exported / "report.json")]
    session = ran(insert, stored, cwd=tmp_path).stdout.strip()
    reframe = str(Path(sys.executable).with_name("reframe"))
    listed = ran([reframe, f"--list-stored-testcases={session}/mean:/"], stored, cwd=tmp_path)
    report = json.loads((exported / "report.json").read_text())
    cases = [case for run in report["runs"] for case in run["testcases"]]
    figures = {name.rpartition(":")[2] for case in cases for name in case["perfvalues"]}
    assert figures
    assert all(f"│ {name} " in listed.stdout for name in figures)


def test_an_export_comes_in_again_once(exported, tmp_path, said):
    words = "reframe", "import", str(exported), "--history", f"{tmp_path}/h.sqlite", "--json"
    form = published("reframe-import", said(0, *words))
    records = (STORED / "records.jsonl").read_text().count("\n")
    assert (form["added"], form["unread"]) == (records, 0)


def test_references_are_what_a_test_takes(folder, said):
    write_logs(folder / "logs", 2, 40, 3)
    assert main(["reframe", "import", "logs"]) == 0
    assert main(["reframe", "survey"]) == 0
    assert "<title>" in (folder / "results/reframe-survey/index.html").read_text()
    assert main(["reframe", "references", "--output", "r.py"]) == 0
    told = json.loads(said(0, "reframe", "references"))
    value, lower, upper, unit = told["Stream1"]["gnu"]["daint:mc"]["triad"]
    assert 98 < value < 101
    assert -0.2 < lower <= -0.03
    assert (upper, unit) == (None, "GB/s")
    (assigned,) = ast.parse((folder / "r.py").read_text()).body
    assert isinstance(assigned, ast.Assign)
    triad = ast.literal_eval(assigned.value)["Stream1"]["gnu"]["daint:mc"]["triad"]
    assert triad == (value, lower, upper, unit)
