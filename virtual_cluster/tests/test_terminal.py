# SPDX-License-Identifier: Apache-2.0
"""What the jobs' user has planted cannot reach the terminal of root's shell, nor root's mounts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from records.errors import InfrastructureError
from records.waiting import COMMAND_S, scaled
from setup.foreign_cluster.tests.person import Person
from virtual_cluster.api import Cluster
from virtual_cluster.tests.clusters import NEEDS_CLUSTER, as_user, on_nodes, own_name

pytestmark = NEEDS_CLUSTER

#: Writes which terminal it can reach, and pushes a command into it.
PLANTED = """\
python3 - {seen} {pushed} <<'END'
import fcntl, os, sys, termios
own = os.open("/dev/tty", os.O_RDWR)
with open(sys.argv[1], "a") as file:
    controlling = open("/proc/self/stat").read().rpartition(")")[2].split()[4]
    print(controlling, file=file)
for descriptor in (own, 0, 1, 2):
    for letter in "id > " + sys.argv[2] + "\\n":
        try:
            fcntl.ioctl(descriptor, termios.TIOCSTI, letter.encode())
        except OSError:
            pass
END
exit 7
"""


def typed_into_a_shell_of_root(command: str) -> tuple[str, str]:
    """What a shell of root in a terminal of its own printed, and that terminal's name."""
    with Person(["bash", "--norc", "--noprofile"], scaled(COMMAND_S)) as person:
        person.presses(f"tty; {command}; echo DO''NE status=$?\n")
        text = person.sees(r"(?s).*DONE status=\d")
        person.presses("exit\n")
        person.ends()
    found = re.search(r"/dev/pts/\d+", text)
    assert found, text
    return text, found[0]


@pytest.mark.parametrize("node", [[], ["n2"]])
def test_a_planted_bashrc_cannot_type_into_roots_shell(
    shared: Cluster, tmp_path: Path, node: list[str]
) -> None:
    home = Path(shared.site_facts()["home_dir"])
    seen, pushed = home / "seen", tmp_path / "pushed"
    seen.unlink(missing_ok=True)
    planted = home / ".bashrc"
    planted.write_text(PLANTED.format(seen=seen, pushed=pushed))
    os.chown(planted, *(shared.site_facts()[key] for key in ("uid", "gid")))
    words = [sys.executable, "-m", "virtual_cluster", "shell", "--name", shared.name, *node]
    try:
        printed, terminal = typed_into_a_shell_of_root(" ".join(words))
    finally:
        planted.unlink()
    assert not pushed.exists()
    controlling = seen.read_text()
    assert int(controlling) not in (0, os.makedev(136, int(terminal.rpartition("/")[2])))
    assert "status=7" in printed


def test_a_command_without_a_terminal_has_none_and_keeps_its_streams(shared: Cluster) -> None:
    script = "echo out; echo err >&2; cat; (: < /dev/tty) 2>/dev/null || echo none; exit 3"
    words = [sys.executable, "-m", "virtual_cluster", "shell", "--name", shared.name]
    words += ["--", "sh", "-c", script]
    done = subprocess.run(words, input="in\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\nin\nnone\n", "err\n")


#: Identities of the node's root and of all that is mounted on its /tmp and /proc; other clusters,
#: which come and go meanwhile, have mounts elsewhere.
_OWN_MOUNTS = """\
awk '$5 ~ "^/((tmp|proc)(/.*)?)?$" {printf "%s %s;", $1, $5}' /proc/self/mountinfo"""


@pytest.mark.parametrize("target", ["/tmp", "/proc", "/"])  # noqa: S108
def test_a_link_of_a_job_does_not_make_root_unmount(shared: Cluster, target: str) -> None:
    """The node's own mount stays, and the message names the link."""
    name = Path(f"/tmp/assay-{own_name('planted')}")  # noqa: S108
    (name / "osu").mkdir(parents=True)
    before = on_nodes(shared, _OWN_MOUNTS)
    as_user(shared, "srun", "-N4", "ln", "-s", target, str(name))
    try:
        for folder in (name, name / "osu"):
            with pytest.raises(InfrastructureError, match="which a job has made there"):
                shared.show([folder])
    finally:
        as_user(shared, "srun", "-N4", "rm", str(name))
        (name / "osu").rmdir()
        name.rmdir()
    assert on_nodes(shared, _OWN_MOUNTS) == before


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("{shell} -- sh -c 'setsid sleep 600 & exit 3'", "DONE status=3"),
        ("{shell} -- ls -l /proc/self/fd 3<>/dev/tty", "DONE status=0"),
        ("({shell} -- echo behind & wait $!)", "DONE status=0"),
        ("{shell} -- echo piped | (stty -a </dev/tty; cat)", "DONE status=0"),
    ],
)
def test_the_relay_ends_with_its_command_and_leaves_roots_terminal(
    shared: Cluster, command: str, expected: str
) -> None:
    """Leftovers do not hold it, no descriptor is inherited, it neither stops nor goes raw."""
    shell = f"{sys.executable} -m virtual_cluster shell --name {shared.name}"
    printed, terminal = typed_into_a_shell_of_root(command.format(shell=shell))
    assert expected in printed
    assert not re.search(rf"-> {terminal}\b", printed)
    for word in ("behind", "piped"):
        assert word not in command or printed.count(word) >= 2
    assert " -icanon" not in printed
