# SPDX-License-Identifier: Apache-2.0
"""The run that the bench makes is one of today: verified, its raw output led to and printed."""

import json
import re
from pathlib import Path

import pytest

from assay.cli import main
from assay.documents.report import build_report
from bench.large_run import make_run
from records.run.archive import RawFiles
from records.run.record import read_records

LINK = re.compile(r'href="(raw/[^"#]+)#([^"]+)"')


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("large") / "run", 80)


def test_every_link_to_raw_output_leads_to_its_copy_in_a_page(run: Path) -> None:
    build_report(run, formats=["html"])
    links = set(LINK.findall((run / "report" / "index.html").read_text()))
    assert len(links) == 80 * 3
    pages = {page: (run / "report" / page).read_text() for page, _ in links}
    assert all(f'<h3 id="{anchor}">' in pages[page] for page, anchor in links)
    record = next(read_records(run / "records.jsonl"))
    with RawFiles(run) as files:
        printed = (files.read(record.artifacts["stdout"]) or b"").decode()
    (page,) = (page for page, anchor in links if anchor in record.artifacts["stdout"])
    assert printed.strip() in pages[page]


def test_a_launchs_raw_output_is_printed_and_proven(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = next(read_records(run / "records.jsonl"))
    words = ["raw", record.case_id, str(record.block), "--run", str(run)]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in told["files"]] == ["script", "stdout", "stderr"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert all(one["text"].strip() in text for one in told["files"])
    assert main(["verify", str(run)]) == 3  # no check can judge what was made up
    assert "ok       raw output against the records" in capsys.readouterr().out
    assert main(["raw", "hpl", "1", "--run", str(run)]) == 2
    assert "4 cases are called 'hpl'" in capsys.readouterr().err
    assert main(["raw", record.case_id, "99", "--run", str(run)]) == 2
    archive = run / "raw" / f"b{record.block}.zip"
    content, name = bytearray(archive.read_bytes()), record.artifacts["stdout"].rpartition("/")[2]
    content[content.index(name.encode()) + len(name) + 20] ^= 0xFF
    archive.write_bytes(content)
    assert main(words) == 2
    assert "is damaged" in capsys.readouterr().err
    assert main(["verify", str(run)]) == 1
    assert name in capsys.readouterr().out
