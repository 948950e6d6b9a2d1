# SPDX-License-Identifier: Apache-2.0
"""A folder of one's own: laid out, and its names found before those of Assay."""

from pathlib import Path

import pytest

from assay.cli.main import main
from assay.schema.criteria import load_criteria
from assay.schema.loading import campaign_names, load_campaign
from assay.sites.site_file import folder_of_new_sites, read_site_file, site_file, site_names
from assay.tests.campaign_texts import CRITERIA, GOOD, SITE_FILE
from records.errors import ExitStatus


@pytest.fixture
def mine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Laid out, and the current folder."""
    assert main(["site", "folder", "mine"]) == ExitStatus.PASS
    monkeypatch.chdir("mine")
    return folder / "mine"


def test_what_is_laid_out_is_kept(mine, capsys):
    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    (mine / "README.md").unlink()
    assert main(["site", "folder", "."]) == ExitStatus.BAD_INPUT
    assert ".gitignore exists and is kept" in capsys.readouterr().err
    (mine / "README.md").write_bytes(before[mine / "README.md"])
    assert {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("place", ["/dev/null", "/proc/mine"])
def test_a_folder_that_cannot_be_made_is_refused(folder, capsys, place):
    assert main(["site", "folder", place]) == ExitStatus.BAD_INPUT
    assert "cannot be written" in capsys.readouterr().err


def test_own_names_come_first_and_those_of_assay_are_there(mine):
    shipped = campaign_names()
    (mine / "campaigns" / "small.yaml").write_text(GOOD)
    (mine / "campaigns" / "quick.yaml").write_text(GOOD.replace("name: small", "name: quick"))
    (mine / "campaigns" / "criteria" / "mine.yaml").write_text(CRITERIA)
    (mine / "site-config" / "virtual").mkdir()
    site = mine / "site-config" / "virtual" / "site.yaml"
    site.write_text(SITE_FILE.replace("here", "virtual"))
    assert load_campaign("quick").question == "Which is faster?"
    assert campaign_names() == sorted([*shipped, "small"])
    assert load_criteria("mine")[1] == CRITERIA
    assert load_criteria("standard")[0].name == "standard"
    assert site_file("virtual").is_relative_to(mine)
    assert [*read_site_file("virtual").environments] == ["lam"]
    assert {"virtual", "virtual-newest"} <= {*site_names()}
    assert folder_of_new_sites() == mine / "site-config"
