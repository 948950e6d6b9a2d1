# SPDX-License-Identifier: Apache-2.0
"""Nothing is written through a link that lies in a run directory."""

import shutil

import pytest

from assay.cli.main import main
from assay.tests.test_stored_run import RUN
from records.errors import AssayError, ExitStatus
from records.run.run_directory import RunDirectory


@pytest.fixture
def run(tmp_path):
    copy = tmp_path / "20261120T214402Z-dc48"
    shutil.copytree(RUN, copy)
    return copy


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "file").write_text("text")
    return folder


@pytest.mark.parametrize(
    ("name", "words"),
    [("report", "report {} --format md"), ("acceptance", "accept {} --criteria rehearsal")],
)
def test_a_link_in_the_place_of_a_folder_is_refused(run, elsewhere, capsys, name, words):
    (run / name).symlink_to(elsewhere)
    assert main(words.format(run).split()) == ExitStatus.BAD_INPUT
    (said,) = capsys.readouterr().err.splitlines()
    assert f"{run / name} is a link, and nothing is written through links" in said
    assert [file.name for file in elsewhere.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["raw", "builds", "records.jsonl", ".lock"])
@pytest.mark.parametrize("target", ["elsewhere", "elsewhere/file", "nowhere"])
def test_a_run_with_a_link_where_the_driver_writes_is_not_resumed(run, elsewhere, name, target):
    path = run / name
    if path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.symlink_to(elsewhere.parent / target)
    with pytest.raises(AssayError, match="is a link") as caught:
        RunDirectory(run).lock()
    assert caught.value.status == ExitStatus.BAD_INPUT
    assert (elsewhere / "file").read_text() == "text"
    assert not (elsewhere.parent / "nowhere").exists()


def test_a_link_in_the_place_of_a_file_of_a_report_is_replaced(run, elsewhere):
    (run / "report").mkdir()
    (run / "report" / "report.md").symlink_to(elsewhere / "file")
    assert main(["report", str(run), "--format", "md"]) == ExitStatus.PASS
    assert not (run / "report" / "report.md").is_symlink()
    assert (elsewhere / "file").read_text() == "text"
