# SPDX-License-Identifier: Apache-2.0
"""A foreign cluster with users who walk: their commands, those of administrators, runs to watch."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from records.errors import InfrastructureError
from setup.foreign_cluster.tests import site_setup
from setup.tests.repacked import repack_all
from virtual_cluster import api, host, namespaces
from virtual_cluster.api import Cluster
from virtual_cluster.state import folders

ROOT = Path(__file__).resolve().parents[3]
REASON = namespaces.refusal(site=True)
NEEDS_SITE = [
    pytest.mark.skipif(
        os.environ.get("ASSAY_TEST_SITE") != "1", reason="takes minutes: make test-site"
    ),
    pytest.mark.skipif(bool(REASON), reason=REASON),
]
#: Leaves clusters up, and goes on with those that were left, for work on these tests.
KEEP = os.environ.get("ASSAY_TEST_SITE_KEEP") == "1"
#: What is waited for comes soon, or late on a loaded machine, or never.
PATIENCE_S = 900.0
TINY = """\
schema: 1
name: tiny
question: Does a launch on two nodes end well?
environments: [{environment}]
blocks: {blocks}
seed: 1
cases:
  - check: startup
    fixed: {{ranks: 2, ranks_per_node: 1}}
limits: {{launch_s: 60, retries: 1}}
"""


@dataclass
class Walk:
    """A cluster that is up; `said` is all that its users read, with seconds since the begin."""

    name: str
    begun: float = field(default_factory=time.monotonic)

    @property
    def cluster(self) -> Cluster:
        """The cluster as it is now."""
        return api.load(self.name)

    def users(self) -> list[str]:
        """Its ordinary users."""
        return list(site_setup.users(self.name))

    def set_up(self, user: str) -> None:
        """Clone and set-up, as a user does both on a site without internet."""
        root = folders(self.name).root
        if KEEP and (self.home(user) / ".venv" / "installed.sha256").exists():
            return
        assert self.user(user, "git clone -q /cluster/assay.git assay").returncode == 0
        if (root / "requirements.lock").read_text() != (ROOT / "requirements.lock").read_text():
            self.user(user, "cp /cluster/requirements.lock .")
        done = self.user(user, "make setup WHEELS=/cluster/wheels")
        assert done.returncode == 0, done.stderr

    def argv(self, user: str, words: Sequence[str]) -> list[str]:
        """Command list for a user's command in the checkout; it becomes that very process."""
        return site_setup.login_command(self.cluster, user, ["env", "-C", "assay", *words])

    def say(self, what: str) -> None:
        """Print what somebody does now; it is shown when the test fails."""
        print(f"[{time.monotonic() - self.begun:5.0f} s] {what}", flush=True)

    def user(
        self, user: str, script: str, within: Sequence[str] = ("bash",), stdin: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A line of a user's login shell."""
        argv = [*within, "-c", f"cd assay 2>/dev/null; {script}"]
        self.say(f"{user}$ {script}")
        done = subprocess.run(
            site_setup.login_command(self.cluster, user, argv),
            stdin=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        print(done.stdout + done.stderr, flush=True)
        return done

    def cron(self, user: str, script: str) -> subprocess.CompletedProcess[str]:
        """A line of a user's crontab, in the checkout: /bin/sh, cron's variables, no terminal."""
        words = [f"HOME=/home/{user}", f"LOGNAME={user}", "SHELL=/bin/sh", "PATH=/usr/bin:/bin"]
        within = ["env", "-i", "-C", f"/home/{user}", *words, "setsid", "--wait", "/bin/sh"]
        return self.user(user, script, within, subprocess.DEVNULL)

    def cron_measures_every_mpi(self, user: str, site: str, environments: Sequence[str]) -> None:
        """A run and a report, all by cron, with each of its environments."""
        assert len(environments) > 1
        campaign = self.campaign(user, ", ".join(environments))
        self.user(user, "rm -rf results/tiny")
        run = f".venv/bin/assay run {campaign} --site {site} --plain && .venv/bin/assay report"
        done = self.cron(user, run)
        assert done.returncode == 0, done.stderr
        assert "index.html" in done.stdout
        found = {(one["environment"], one["status"]) for one in self.records(user, "tiny")}
        assert found == {(name, "ok") for name in environments}

    def admin(self, *words: str) -> str:
        """What a command of an administrator prints."""
        self.say(f"admin# {shlex.join(words)}")
        return host.run(self.cluster.admin_command(words)).stdout

    def home(self, user: str) -> Path:
        """The checkout of a user."""
        return site_setup.users(self.name)[user] / "assay"

    def write(self, user: str, name: str, text: str) -> None:
        """A file in the checkout of a user, written by that user."""
        argv = self.argv(user, ["sh", "-c", f"mkdir -p {Path(name).parent}; cat >{name}"])
        subprocess.run(argv, input=text, text=True, check=True)

    def campaign(self, user: str, environment: str, blocks: int = 1) -> str:
        """A campaign file of that user, of a few launches."""
        name = f"tiny-{environment}-{blocks}.yaml".replace(", ", "-")
        self.write(user, name, TINY.format(environment=environment, blocks=blocks))
        return name

    def start(self, user: str, *words: str) -> Running:
        """A command of a user that goes on by itself."""
        self.say(f"{user}$ {shlex.join(words)} &")
        log = folders(self.name).root / "log" / f"walk-{user}-{time.monotonic_ns()}.out"
        with log.open("wb") as out:
            started = subprocess.Popen(
                self.argv(user, words), stdout=out, stderr=subprocess.STDOUT, text=True
            )
        return Running(started, log)

    def records(self, user: str, run: str = "*") -> list[dict[str, object]]:
        """The records of the newest run of that user (in a folder of results)."""
        runs = sorted((self.home(user) / "results").glob(f"{run}/*/records.jsonl"))
        newest = max(runs, key=lambda path: path.stat().st_mtime)
        return [json.loads(line) for line in newest.read_text().splitlines()]


@dataclass
class Running:
    """A command that was started, and the file that it prints to."""

    process: subprocess.Popen[str]
    log: Path

    def text(self) -> str:
        """All that it has printed."""
        return self.log.read_text(errors="replace")

    def until_shown(self, text: str, what: str) -> None:
        """Wait until it has printed a text; fails when it does not, or when it ends first."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.text():
            assert self.process.poll() is None, f"ended before: {what}\n{self.text()}"
            assert time.monotonic() < deadline, f"not seen: {what}\n{self.text()}"
            time.sleep(0.5)

    def end(self) -> int:
        """Its exit status, once it has ended."""
        status = self.process.wait(PATIENCE_S)
        print(self.text(), flush=True)
        return status


@dataclass(frozen=True)
class Wheels:
    """All packages in a folder, and the text of the lock file that they fulfil."""

    folder: Path
    lock: str


def fetch_wheels(folder: Path) -> Wheels:
    """All packages of the lock.

    Fetched as a user would; where no index can be reached, made of what .venv has.
    """
    words = ["make", "wheels", f"WHEELS={folder}"]
    if subprocess.run(words, cwd=ROOT, capture_output=True, check=False).returncode == 0:
        return Wheels(folder, (ROOT / "requirements.lock").read_text())
    folder.mkdir(exist_ok=True)
    return Wheels(folder, repack_all(folder))


@contextmanager
def walk_on(name: str, wheels: Wheels) -> Iterator[Walk]:
    """A cluster, with a copy of this repository and the packages where its users find them."""
    root = folders(name).root
    if KEEP and (root / "requirements.lock").exists():
        yield Walk(name)
        return
    try:
        site_setup.up(name, site_setup.described(name), print)
        bundle = ["git", "-C", str(ROOT), "bundle", "create", "-q", str(root / "assay.git"), "HEAD"]
        subprocess.run(bundle, check=True)
        shutil.copytree(wheels.folder, root / "wheels")
        subprocess.run(["chmod", "-R", "a+rX", str(root / "wheels")], check=True)
        (root / "requirements.lock").write_text(wheels.lock)
        yield Walk(name)
    except InfrastructureError as error:
        if "_check_mysql_concat_is_sane" not in str(error):
            raise
        pytest.skip("slurmdbd refuses the client of MariaDB of Debian 13 and later: not to be had")
    finally:
        if not KEEP:
            api.down(name, print)
