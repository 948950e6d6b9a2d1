# SPDX-License-Identifier: Apache-2.0
"""Raw output as launches leave it, broken ones too: kept whole, cut, or refused with the reason."""

import hashlib
import os
import resource
import stat
from types import SimpleNamespace

import pytest

from assay.run.launches import RawArchives
from assay.tests.test_work_folder import made_run, work_folder
from checks.common.session.outcome import Outcome
from records.flags import RAW_CUT, RAW_LIMIT_BYTES
from records.run.archive import RawFiles


@pytest.fixture
def run(tmp_path):
    return made_run(tmp_path)


@pytest.fixture
def work(run, tmp_path):
    made = work_folder(run, tmp_path / "scratch")
    made.fresh_session()
    return made


def kept(run, work, *outcomes, stem="case"):
    """The artifacts of each outcome, one a block."""
    with RawArchives(run, SimpleNamespace(entries=[]), print) as raw:
        return [
            raw.keep(work.open, stem, block, outcome) for block, outcome in enumerate(outcomes, 1)
        ]


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), "stderr is a link"),
        (os.mkfifo, "stderr is a FIFO"),
        (os.mkdir, "stderr is a folder"),
        (lambda _: None, "stderr is missing"),
    ],
)
def test_what_is_no_file_is_neither_followed_nor_waited_for(run, work, breaks, told):
    stage = work.session / "stage"
    stage.mkdir()
    breaks(stage / "err")
    (work.session / "out").write_text("text")
    files = {"stdout": str(work.session / "out"), "stderr": str(stage / "err")}
    outcomes = [Outcome("ok", files=files), Outcome("failed", "no answer", files=files)]
    for artifacts in kept(run, work, *outcomes):
        assert artifacts.keys() == {"stdout", "stdout_sha256"}
    ok, failed = outcomes
    assert (ok.status, ok.reason) == ("wrong", f"raw output refused: {told}")
    assert failed.status == "failed"
    assert failed.reason.startswith("no answer")


def test_immense_output_is_cut_in_the_middle_at_little_cost(run, work):
    source = work.session / "rfm_job.err"
    with source.open("wb") as file:
        file.write(b"head")
        file.seek(5 * 2**30 - 4)
        file.write(b"tail")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = Outcome("ok", files={"stderr": str(source)})
    (artifacts,) = kept(run, work, outcome)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 2**10  # KiB
    with RawFiles(run.path) as files:
        text = files.read(artifacts["stderr"])
    left_out = 5 * 2**30 - RAW_LIMIT_BYTES
    assert text.startswith(b"head")
    assert text.endswith(b"tail")
    assert b"\n[assay: %d bytes are left out here]\n" % left_out in text
    assert len(text) < RAW_LIMIT_BYTES + 100
    assert (outcome.status, outcome.flags) == ("ok", [RAW_CUT])
    assert stat.S_IMODE((run.raw / "b1.zip").stat().st_mode) == 0o600


def test_the_values_of_a_scan_are_kept_whole_and_a_link_is_refused(run, work):
    (work.session / "points.parquet").write_bytes(b"x" * 3_000_000)
    (work.session / "link.parquet").symlink_to(work.session / "points.parquet")
    paths = (work.session / f"{name}.parquet" for name in ("points", "link", "none"))
    outcomes = [Outcome("ok", files={"points": str(path)}) for path in paths]
    artifacts, *others = kept(run, work, *outcomes, stem="scan-1.b1.a1")
    file = run.path / artifacts["points"]
    assert file.read_bytes() == b"x" * 3_000_000
    assert artifacts["points_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert [outcome.status for outcome in outcomes] == ["ok", "wrong", "wrong"]
    assert "points is missing" in outcomes[2].reason
    assert not any(others)
