# SPDX-License-Identifier: Apache-2.0
"""ReFrame reads what Assay exports for it."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import main
from assay.tests.published_forms import published
from bench.tests.simulated.reframe_logs import write_logs

STORED = Path(__file__).parents[3] / "reports/tests/stored_run"
INSERT = """
import sys
from reframe.core import config, runtime
site = config.load_config('<builtin>')
site.select_subconfig('generic')
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
    stored = {"RFM_ENABLE_RESULTS_STORAGE": "1", "RFM_SQLITE_DB_FILE": str(tmp_path / "r.db")}

    def out(*command: str) -> str:
        return subprocess.check_output(command, env=os.environ | stored, text=True, cwd=tmp_path)

    storage = "[{'enable': True, 'sqlite_db_file': 'r.db'}]"
    (tmp_path / "cfg.py").write_text(f"site_configuration = {{'storage': {storage}}}\n")
    option = f"site.add_sticky_option('storage/sqlite_db_file', '{tmp_path}/r.db')"
    insert = INSERT.replace("runtime.init", f"{option}\nruntime.init")
    session = out(sys.executable, "-c", insert, str(exported / "report.json")).strip()
    reframe = str(Path(sys.executable).with_name("reframe"))
    listed = out(reframe, "-C", "cfg.py", f"--list-stored-testcases={session}/mean:/")
    report = json.loads((exported / "report.json").read_text())
    cases = [case for run in report["runs"] for case in run["testcases"]]
    figures = {name.rpartition(":")[2] for case in cases for name in case["perfvalues"]}
    assert figures
    assert all(f"│ {name} " in listed for name in figures)


def test_an_export_comes_in_again_once(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = ["--history", str(tmp_path / "h.sqlite")]
    assert main(["reframe", "import", str(exported), *history, "--json"]) == 0
    form = published("reframe-import", capsys.readouterr().out)
    records = (STORED / "records.jsonl").read_text().count("\n")
    assert (form["added"], form["unread"]) == (records, 0)


def test_references_are_what_a_test_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_logs(tmp_path / "logs", 2, 40, 3)
    assert main(["reframe", "import", "logs"]) == 0
    assert main(["reframe", "survey"]) == 0
    assert "<title>" in (tmp_path / "results/reframe-survey/index.html").read_text()
    assert main(["reframe", "references", "--output", "r.py"]) == 0
    capsys.readouterr()
    assert main(["reframe", "references"]) == 0
    told = json.loads(capsys.readouterr().out)
    value, lower, upper, unit = told["Stream1"]["gnu"]["daint:mc"]["triad"]
    assert 98 < value < 101
    assert -0.2 < lower <= -0.03
    assert (upper, unit) == (None, "GB/s")
    (assigned,) = ast.parse((tmp_path / "r.py").read_text()).body
    assert isinstance(assigned, ast.Assign)
    triad = ast.literal_eval(assigned.value)["Stream1"]["gnu"]["daint:mc"]["triad"]
    assert triad == (value, lower, upper, unit)
