# SPDX-License-Identifier: Apache-2.0
"""What the jobs' user of one cluster plants in a build runs as no other cluster's user."""

import hashlib
import subprocess

import pytest

from assay.cli import main
from assay.run.kept_builds import KeptBuilds, kept_folder
from assay.tests.test_run_on_cluster import campaign, own_name, records_of, run, the_run
from assay.tests.test_run_on_cluster import of_full as pytestmark  # noqa: F401
from records.run.archive import RawFiles
from virtual_cluster import ClusterSpec, up

CASES = "  - check: startup\n    fixed: {ranks: 1}\n"
PLANTED = '#!/bin/sh\necho "planted program of uid $(id -u)" >&2\n'
#: Replaces the program of a folder.
PLANT = 'cd "$1" && printf %s "$2" >other && chmod 755 other && mv other startup'


@pytest.fixture
def clusters():
    names = [own_name(letter) for letter in "pq"]
    made = []
    try:
        for name in names:
            made.append(up(ClusterSpec(name, nodes=1, network="unlimited"), lambda _: None))
        yield made
    finally:
        for cluster in made:
            cluster.down(lambda _: None)


def stderr_of(path, record):
    with RawFiles(path) as files:
        return files.read(record.artifacts["stderr"]).decode()


def test_a_program_planted_while_it_is_made_runs_as_no_other_user(clusters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first, second = clusters
    facts = first.site_facts()
    take_in = KeptBuilds.take_in

    def planted_before(self, built):
        """What the user plants once make has linked it is there when it is copied."""
        words = ["/bin/sh", "-ec", PLANT, "sh", built.folder, PLANTED]
        subprocess.run(first.user_command(words), cwd="/", check=True)
        take_in(self, built)

    name = campaign(tmp_path, "first", "mpich", 1, CASES)
    with monkeypatch.context() as patch:
        patch.setattr(KeptBuilds, "take_in", planted_before)
        main(["run", name, "--site", f"virtual:{first.name}"])
    path = the_run(tmp_path, "first")
    (attacked,) = records_of(path)
    assert f"planted program of uid {facts['uid']}" in stderr_of(path, attacked)
    planted = hashlib.sha256(PLANTED.encode()).hexdigest()
    assert attacked.programs["startup"] == planted
    assert [*kept_folder().glob("*/startup")]

    name = campaign(tmp_path, "second", "mpich", 1, CASES)
    status, output = run(name, "--site", f"virtual:{second.name}")
    path = the_run(tmp_path, "second")
    (record,) = records_of(path)
    assert "planted program" not in stderr_of(path, record)
    assert (status, record.status) == (0, "ok"), output
    assert record.programs.keys() >= {"startup", "stepkeeper"}
    assert planted not in record.programs.values()
    kept = {
        hashlib.sha256(file.read_bytes()).hexdigest() for file in kept_folder().glob("*/startup")
    }
    assert kept == {planted, record.programs["startup"]}
