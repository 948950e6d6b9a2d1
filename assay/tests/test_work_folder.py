# SPDX-License-Identifier: Apache-2.0
"""The work folder of a run on a site without root: two ordinary users in one shared folder."""

import hashlib
import os
import resource
import shutil
import stat
import tempfile
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.run.raw_output import RawArchives
from assay.run.work_folder import WorkFolder
from assay.sites.site_file import read_description
from assay.sites.slurm import SlurmSite
from checks.common.session.outcome import Outcome
from records.errors import AssayError, InfrastructureError
from records.flags import RAW_CUT, RAW_LIMIT_BYTES
from records.run.archive import RawFiles
from records.run.run_directory import RunDirectory
from records.untrusted import RefusedFileError

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="plays two users: run with sudo")
ALICE, MALLORY = 65531, 65532


@pytest.fixture
def public():
    """A folder that everybody can enter; pytest's are private."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def shared(public):
    """A sticky folder that everybody can enter and write."""
    (public / "scratch").mkdir()
    (public / "scratch").chmod(0o1777)
    return public / "scratch"


@pytest.fixture
def work(tmp_path, shared):
    """The work folder of a run, entered."""
    with work_folder(made_run(tmp_path), shared) as entered:
        yield entered


def made_run(folder, name="20261122T000000Z-aaaa"):
    (folder / name / "raw").mkdir(parents=True)
    return RunDirectory(folder / name)


def raw_archives(run):
    return RawArchives(run, SimpleNamespace(entries=[]), print)


def work_folder(run, shared):
    described = read_description("virtual").model_copy(update={"work_dir": str(shared)})
    return WorkFolder(SlurmSite(described), run.path)


def child_of(uid, act):
    """The process of another user that does `act`; it fails as that fails."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            act()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def as_user(uid, act):
    assert os.waitstatus_to_exitcode(os.waitpid(child_of(uid, act), 0)[1]) == 0


@pytest.fixture
def run_of_alice(public):
    """A run directory of an ordinary user."""
    home = public / "alice"
    run = made_run(home)
    for path in (home, run.path, run.raw):
        os.chown(path, ALICE, ALICE)
    return run


def test_all_of_it_is_private_and_every_session_begins_empty(work, shared):
    work.fresh_session()
    (work.session / "file").write_text("text")
    work.write_control("site.json", "{}")
    for path in (work.path, work.control, work.session):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    work.fresh_session()
    assert list(work.session.iterdir()) == []
    assert (work.control / "site.json").read_text() == "{}"
    for path in (work.control / "site.json", work.session / "../control/site.json", "out", ""):
        with pytest.raises(RefusedFileError):
            work.open(str(path))
    work.remove()
    assert list(shared.iterdir()) == []


def test_a_copied_run_directory_has_a_work_folder_of_its_own(tmp_path, shared):
    run = made_run(tmp_path)
    copy = tmp_path / "elsewhere" / run.path.name
    shutil.copytree(run.path, copy)
    first, second = work_folder(run, shared), work_folder(RunDirectory(copy), shared)
    assert first.name != second.name
    assert first.path != second.path
    moved = run.path.rename(tmp_path / "elsewhere" / "moved")
    assert work_folder(RunDirectory(moved), shared).name.endswith(first.name.split("-")[-1])


def test_a_leftover_is_not_entered_and_its_links_lead_nowhere(tmp_path, work, shared):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("text")
    work.path.mkdir()
    for name in ("control", "session", "link"):
        (work.path / name).symlink_to(precious)
    work.fresh_session()
    work.write_control("file", "ours")
    assert not work.session.is_symlink()
    assert sorted(path.name for path in work.path.iterdir()) == ["control", "held", "session"]
    assert (precious / "file").read_text() == "text"
    assert [path.name for path in shared.iterdir()] == [work.path.name]


def test_a_leftover_that_is_nested_beyond_all_limits_is_removed(work):
    work.fresh_session()
    before = Path.cwd()
    os.chdir(work.session)
    for _ in range(3000):
        Path("d").mkdir()
        os.chdir("d")
    os.chdir(before)
    work.fresh_session()
    assert sorted(path.name for path in work.path.iterdir()) == ["control", "held", "session"]


@pytest.mark.parametrize("target", ["/etc", "nowhere"])
def test_a_link_in_the_place_of_the_work_folder_is_refused(work, target):
    work.path.symlink_to(target)
    with pytest.raises(InfrastructureError, match="is no folder of uid"):
        work.fresh_session()
    assert work.path.is_symlink()


@ROOT_ONLY
def test_another_users_folder_in_its_place_is_refused_and_stays(shared, run_of_alice):
    path = work_folder(run_of_alice, shared).path

    def squat():
        path.mkdir()
        (path / "session").symlink_to("/etc")

    def run():
        with (
            work_folder(run_of_alice, shared) as work,
            pytest.raises(InfrastructureError, match=f"is a folder of uid {MALLORY}"),
        ):
            work.fresh_session()

    as_user(MALLORY, squat)
    as_user(ALICE, run)
    assert (path / "session").is_symlink()


@ROOT_ONLY
def test_another_user_can_neither_enter_nor_replace_it(shared, run_of_alice):
    def run():
        with work_folder(run_of_alice, shared) as work:
            work.fresh_session()
            (work.session / "out").write_text("text")

    def attack():
        for act in (
            lambda: list(path.iterdir()),
            lambda: path.rename(shared / "aside"),
            lambda: (path / "session").rename(shared / "aside"),
            path.rmdir,
            lambda: path.chmod(0o777),
            lambda: (path / "control" / "site.json").write_text("{}"),
        ):
            with pytest.raises(PermissionError):
                act()

    path = work_folder(run_of_alice, shared).path
    as_user(ALICE, run)
    as_user(MALLORY, attack)
    assert (path / "session" / "out").read_text() == "text"


@ROOT_ONLY
def test_a_race_for_its_name_is_lost_or_refused(shared, run_of_alice, public):
    """Mallory makes links in its place all the time; what they point to is never written."""
    target = public / "target"
    target.mkdir()
    os.chown(target, ALICE, ALICE)
    path = work_folder(run_of_alice, shared).path

    def links():
        while True:
            with suppress(OSError):
                path.symlink_to(target)
                path.unlink()

    def run():
        for _ in range(60):
            with work_folder(run_of_alice, shared) as work:
                try:
                    work.fresh_session()
                    work.write_control("site.json", "{}")
                except InfrastructureError:
                    continue
                assert stat.S_ISDIR(os.lstat(path).st_mode)
                work.remove()

    attacker = child_of(MALLORY, links)
    try:
        as_user(ALICE, run)
    finally:
        os.kill(attacker, 9)
        os.waitpid(attacker, 0)
    assert list(target.iterdir()) == []


def test_a_folder_that_everybody_can_rename_in_is_refused(work, shared):
    shared.chmod(0o777)
    with pytest.raises(AssayError, match="everybody may rename"):
        work.fresh_session()
    assert list(shared.iterdir()) == []


def test_a_work_folder_that_vanished_says_so(work):
    work.fresh_session()
    shutil.rmtree(work.path)
    with pytest.raises(InfrastructureError, match="the work folder cannot be used"):
        work.fresh_session()


def test_immense_output_is_cut_in_the_middle_at_little_cost(tmp_path, shared):
    run = made_run(tmp_path)
    with work_folder(run, shared) as work:
        work.fresh_session()
        source = work.session / "rfm_job.err"
        with source.open("wb") as file:
            file.write(b"head")
            file.seek(5 * 2**30 - 4)
            file.write(b"tail")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with raw_archives(run) as raw:
            outcome = Outcome("ok", files={"stderr": str(source)})
            artifacts = raw.keep(work, "case", 1, outcome)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 2**10  # KiB
    with RawFiles(run.path) as files:
        text = files.read(artifacts["stderr"])
    left_out = 5 * 2**30 - RAW_LIMIT_BYTES
    assert text.startswith(b"head")
    assert text.endswith(b"tail")
    assert b"\n[assay: %d bytes are left out here]\n" % left_out in text
    assert len(text) < RAW_LIMIT_BYTES + 100
    assert (outcome.status, outcome.flags) == ("ok", [RAW_CUT])


def test_raw_files_are_private_whatever_the_job_made_of_them(tmp_path, shared):
    run = made_run(tmp_path)
    with work_folder(run, shared) as work:
        work.fresh_session()
        source = work.session / "out"
        source.write_text("text")
        source.chmod(0o666)
        with raw_archives(run) as raw:
            outcome = Outcome("ok", files={"stdout": str(source), "stderr": "/etc/passwd"})
            artifacts = raw.keep(work, "case", 3, outcome)
    assert stat.S_IMODE((run.raw / "b3.zip").stat().st_mode) == 0o600
    assert artifacts["stdout"] == "raw/b3.zip/case.out"
    assert outcome.status == "wrong"
    assert outcome.reason == "raw output refused: stderr is outside of the session's folder"


def test_the_folder_of_the_job_that_holds_nodes_is_in_its_place_all_the_time(shared):
    """Its script enters it by its path as soon as Slurm gets to it, also while a session ends."""
    run, missed, over = made_run(shared), [], threading.Event()
    with work_folder(run, shared) as work:
        work.fresh_session()
        (work.held / "job").mkdir()

        def look():
            while not over.is_set():
                missed.extend(() if (work.held / "job").is_dir() else ["missed"])

        looking = threading.Thread(target=look)
        looking.start()
        for _ in range(20):
            (work.session / "output").write_text("x")
            work.fresh_session()
            assert not [*work.session.iterdir()]
        over.set()
        looking.join()
    assert not missed
    with work_folder(run, shared) as work:
        work.fresh_session()
        assert not [*work.held.iterdir()]


def test_the_values_of_a_scan_are_kept_whole_and_a_link_is_refused(public, shared):
    run = made_run(public)
    with work_folder(run, shared) as work:
        work.fresh_session()
        stage = Path(work.session)
        (stage / "points.parquet").write_bytes(b"x" * 3_000_000)
        (stage / "link.parquet").symlink_to(stage / "points.parquet")
        kept = {}
        with raw_archives(run) as raw:
            for block, name in enumerate(("points", "link", "none"), 1):
                outcome = Outcome("ok", files={"points": str(stage / f"{name}.parquet")})
                kept[name] = outcome, raw.keep(work, f"scan-1.b{block}.a1", block, outcome)
    _, artifacts = kept["points"]
    file = run.path / artifacts["points"]
    assert file.read_bytes() == b"x" * 3_000_000
    assert artifacts["points_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert [outcome.status for outcome, _ in kept.values()] == ["ok", "wrong", "wrong"]
    assert "points is missing" in kept["none"][0].reason
    assert not (kept["link"][1] or kept["none"][1])
