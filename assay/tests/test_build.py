# SPDX-License-Identifier: Apache-2.0
"""assay build without Spack: what it refuses, what it takes, and what it says when Spack fails; a
Spack home is changed by one build at a time, and by none while a run uses it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay import ROOT
from assay.build import builder
from assay.build.spack import PACKAGES, SPACK_ENV, Spack, explained, find_spack, locked, write_scope
from assay.cli.main import main
from assay.run.driver import Driver
from assay.run.progress import QUIET_S, Progress
from assay.sites import site_file
from assay.sites.loading import SlurmSite
from assay.sites.site_file import facts_file, read_description, view_folder
from assay.tests.campaign_texts import virtual_site
from checks.common.session.outcome import CompleteBuild, Outcome
from checks.common.sources import CHECKS
from records.errors import AssayError, InfrastructureError

LOCK = SPACK_ENV / "environments" / "distribution-sources" / "debian12.lock"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv(site_file.HOME, str(tmp_path / "home"))
    return tmp_path / "home"


def virtual():
    return read_description("virtual")


def test_no_spack_is_told_with_its_remedy(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("SPACK_ROOT", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("assay.build.spack.CLONES", tmp_path)
    assert main(["build", "--site", "virtual"]) == 4
    assert re.search("no Spack found.*make spack", capsys.readouterr().err)


def test_a_package_repository_that_is_none_is_refused(monkeypatch, tmp_path):
    spack = tmp_path / "bin" / "spack"
    spack.parent.mkdir()
    spack.touch(0o755)
    monkeypatch.setenv("SPACK_ROOT", str(tmp_path))
    monkeypatch.setenv(PACKAGES, str(tmp_path))
    with pytest.raises(InfrastructureError, match=r"repo\.yaml"):
        find_spack()


def test_what_cannot_be_built_is_told_before_spack_is_looked_for(capsys, home):
    assert main(["build", "--site", "virtual", "--environments", "mvapich-spack"]) == 2
    told = "'mvapich-spack'.* allowed are lam-spack, lam-lamd-spack"
    assert re.search(told, capsys.readouterr().err)


def test_environments_ask_for_the_views_they_need():
    asked = ["lam-lamd-spack", "lam", "mpich-spack"]
    assert builder.BuildRequest("virtual", virtual().spack, asked).views() == ["lam", "mpich"]


def test_the_kept_lock_serves_until_a_site_chooses_itself(tmp_path):
    built, lock, own = virtual().spack, tmp_path / "spack.lock", tmp_path / "packages.yaml"
    platform = SPACK_ENV / "platforms" / "debian12" / "packages.yaml"

    def laid(*files):
        builder._lay_environment(built, tmp_path, [*files, platform])
        return lock.read_bytes() if lock.exists() else None

    assert laid() == LOCK.read_bytes()
    own.write_text("packages: {all: {require: [target=x86_64_v3]}}")
    assert laid(own) is None
    lock.write_bytes(b"chosen by the site's file")
    assert laid(own) == b"chosen by the site's file"
    own.write_text("packages: {all: {require: [target=x86_64]}}")
    assert laid(own) is None
    assert laid() == LOCK.read_bytes()


def test_ranks_are_started_by_the_views_own_program_or_by_slurms(home):
    bins = {name: view_folder("virtual", name) / "bin" for name in ("mpich", "lam")}
    environments = virtual().environments
    assert environments["mpich-spack"].mpirun is None
    assert environments["mpich-hydra-spack"].mpirun == str(bins["mpich"] / "mpiexec.hydra")
    assert environments["lam-lamd-spack"].mpirun == str(bins["lam"] / "mpirun")
    prte = read_description("virtual-newer").environments["openmpi5-prte"].mpirun
    assert prte == str(view_folder("virtual-newer", "openmpi5") / "bin" / "prun")


def test_a_site_names_what_else_of_a_view_runs(home):
    """HPL as netlib has it stands beside ours, in environments of its own."""
    environments = read_description("virtual-newest").environments
    view = view_folder("virtual-newest", "lam")
    assert environments["lam-netlib"].programs["hpl"] == f"{view}/bin/xhpl"
    assert "su3_rmd" not in environments["lam"].programs
    assert "hpl" not in environments["lam"].programs
    # What the distribution has is not of the view.
    of_view = virtual().environments["lam-spack"].programs.values()
    assert all(path.startswith(str(home)) for path in of_view)


@pytest.mark.parametrize(
    ("version", "told"),
    [(1, r"checksum is .*states a{64}; not taken"), (2, "this distribution has another version")],
)
def test_an_archive_of_wrong_checksum_or_version_is_not_taken(tmp_path, version, told):
    (tmp_path / "x_1.orig.tar.gz").write_bytes(b"forged")
    wanted = builder.SourceArchive(package="x", archive=f"x_{version}.orig.tar.gz", sha256="a" * 64)
    with pytest.raises(InfrastructureError, match=told):
        builder._take(wanted, tmp_path, tmp_path / "mirror", print)
    assert not (tmp_path / "mirror").exists()


@pytest.mark.parametrize(
    ("sample", "status", "said"),
    [
        (None, 4, "==> Error: it broke"),
        ("checksum", 4, "lam-7.1.4.tar.gz has not the checksum that its recipe states"),
        ("no-source", 4, "no source for lam-7.1.4: "),
        ("full-disk", 4, "the disk is full below /home"),
        ("unknown-compiler", 2, "Spack cannot resolve it: Version requirement 99 on c for gcc"),
    ],
)
def test_what_spack_printed_becomes_one_message(sample, status, said):
    samples = SPACK_ENV / "tests" / "samples"
    text = (samples / f"{sample}.txt").read_text() if sample else "==> Error: it broke\n\nbye\n"
    error = explained("building", text, Path("/log"), Path("/home"))
    assert error.status == status
    assert said in str(error) and "(log: /log)" in str(error) and "\n" not in str(error)


def test_offline_the_mirror_replaces_every_other_and_a_platform_must_be_there(home):
    spack = Spack(Path("/bin/false"), Path("/packages"), home)
    scope = write_scope(spack, "virtual", virtual().spack, offline=True)
    assert (scope / "mirrors.yaml").read_text().startswith("mirrors::\n")
    assert "builtin: /packages" in (scope / "repos.yaml").read_text()
    write_scope(spack, "virtual", virtual().spack, offline=False)
    assert (scope / "mirrors.yaml").read_text().startswith("mirrors:\n")
    built = virtual().spack.model_copy(update={"platform": "debian99"})
    with pytest.raises(AssayError, match="'debian99': allowed is debian12"):
        write_scope(spack, "virtual", built, offline=False)


def test_osu_is_offered_where_the_view_has_it(home):
    osu = view_folder("virtual", "mpich") / "libexec" / "osu-micro-benchmarks"
    (osu / "mpi" / "pt2pt").mkdir(parents=True)
    offered = virtual_site().session_data()["environments"]
    assert offered["mpich-spack"]["programs"]["osu"] == str(osu)
    assert "osu" not in offered["openmpi-spack"]["programs"]


def test_builds_can_stand_in_under_the_same_names(home):
    site = virtual_site().with_builds("spack")
    assert set(site.description.environments) >= {"lam", "lam-lamd", "mpich", "openmpi"}
    assert {e.source for e in site.description.environments.values()} == {"spack"}
    assert virtual_site().with_builds("distribution").description == virtual()
    newer = read_description("virtual-newer")  # which has no others
    assert set(newer.environments) == {"mpich-ofi", "openmpi5", "openmpi5-prte"}
    assert newer.environments["openmpi5-prte"].compiler.startswith(str(home))
    assert SlurmSite(newer).with_builds("spack").description.environments == newer.environments


def test_what_is_not_built_or_from_other_sources_is_not_measured(home):
    with pytest.raises(InfrastructureError, match=r"Spack has not built lam .*assay build"):
        builder.refuse_stale_builds(virtual_site(), ["mpich", "lam-spack"])
    path = facts_file("virtual", "lam")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"sources": "of yesterday"}))
    with pytest.raises(InfrastructureError, match="lam-spack from other C sources"):
        builder.refuse_stale_builds(virtual_site(), ["lam-spack"])
    path.write_text(json.dumps({"sources": builder.sources_digest()}))
    builder.refuse_stale_builds(virtual_site(), ["lam-spack"])


def test_a_changed_source_changes_the_digest(tmp_path):
    copy = tmp_path / "checks"
    shutil.copytree(CHECKS, copy)
    before = builder.sources_digest(copy)
    assert before == builder.sources_digest(CHECKS)
    (copy / "echo" / "notes.py").write_text("pass\n")
    (copy / "common" / "src" / "README.md").open("a").write("\n")
    assert builder.sources_digest(copy) == before
    for name in ("echo/echo.c", "common/src/assay/args.h", "hpl/build.mk", "su3_rmd/src/Makefile"):
        (copy / name).open("a").write("\n")
        assert builder.sources_digest(copy) != before
        before = builder.sources_digest(copy)


#: A Spack that resolves to the kept lock, says that all of it is installed, and notes its commands.
SPACK = """#!{python}
import json, pathlib, sys
words = sys.argv[sys.argv.index("-e") + 2:]
with open({log!r}, "a") as log:
    print(*words[:1], *[word for word in words if word == "--overwrite"], file=log)
if words[0] == "find":
    print(*json.loads(pathlib.Path({lock!r}).read_text())["concrete_specs"])
"""


def test_a_complete_build_is_not_gone_through_again(home, monkeypatch):
    home.mkdir()
    log, said = home / "commands", []
    spack = Spack(home / "spack", None, home)
    spack.executable.write_text(SPACK.format(python=sys.executable, log=str(log), lock=str(LOCK)))
    spack.executable.chmod(0o755)
    request = builder.BuildRequest("virtual", virtual().spack, ["lam-spack"])
    view_folder("virtual", "lam").mkdir(parents=True)

    def commands():
        log.unlink(missing_ok=True)
        builder.build(spack, request, said.append)
        return log.read_text().splitlines()

    whole = ["concretize", "find", "fetch", "install --overwrite", "install", "env"]
    assert commands() == whole
    assert commands() == ["concretize", "find"]
    assert said[-1] == "nothing has changed since these were built: lam"
    monkeypatch.setattr(builder, "sources_digest", lambda: "changed")
    assert commands() == whole
    facts_file("virtual", "lam").unlink()
    assert commands() == whole


def test_the_lock_tells_what_a_view_is_built_from():
    lock = builder.Lock(LOCK)
    (root,) = lock.roots_of("lam")
    packages = lock.packages([root])
    lam = packages["lam"]
    told = ("7.1.4", "gcc@12.2.0", "x86_64_v2")
    assert (lam["version"], lam["compiler"], lam["target"]) == told
    assert "~romio" in lam["variants"]
    assert packages["openblas"]["external"]
    assert {"assay-benchmarks", "assay-hpl", "su3-rmd", "netpipe"} <= set(packages)
    assert "perl" not in packages


def test_a_run_says_what_its_session_builds(capsys):
    driver = Driver.__new__(Driver)
    driver.progress = Progress(live=False)
    driver._kept_builds = SimpleNamespace(take_in=lambda _: None)
    for notice in (
        Outcome(progress="building Programs for lam"),
        Outcome(built=CompleteBuild("lam", "Programs")),
    ):
        driver._heed_notice(notice, {})
        driver.progress._spoke -= QUIET_S + 1
        driver.progress.tick()
    first, during, after = capsys.readouterr().err.splitlines()
    assert first == "building Programs for lam"
    assert during.endswith(", building Programs for lam")
    assert "building" not in after


HOLDER = """
import sys
from pathlib import Path
from assay.build.spack import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_build_is_refused_until_the_first_is_gone_even_killed(home, said):
    words = [sys.executable, "-c", HOLDER, home]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert "another build, or a run on its libraries, is under way" in said(
            4, "build", "--mirror", "distribution", "--site", "virtual"
        )
        holder.kill()
    with locked(home):
        pass


def test_runs_use_a_home_together_and_keep_builds_out(home):
    refused = pytest.raises(InfrastructureError, match="a run")
    with locked(home, shared=True), locked(home, shared=True), refused, locked(home):
        pass
    refused = pytest.raises(InfrastructureError, match="a build is under way")
    with locked(home), refused, locked(home, shared=True):
        pass


def test_a_home_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match=site_file.HOME), locked(tmp_path / "file" / "x"):
        pass
