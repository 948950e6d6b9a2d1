# SPDX-License-Identifier: Apache-2.0
"""Listing survives every file: a hostile one is listed or refused, and the others go on."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.common.foreign import children
from checks.common.foreign.children import list_files
from checks.common.foreign.listing import Listing, Surroundings

TEST = """
import reframe as rfm

@rfm.simple_test
class Plain(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'true'
"""
GARBAGE = "import sys; sys.stdout.write('\\x1b[2J{]' * 1000); sys.stdout.flush()"
FORGED = """import os; text = b'{"schema": 1, "file": "/forged", "classes": []}\\n'
for descriptor in range(64):
    try:
        os.write(descriptor, text)
    except OSError:
        pass"""
FORK = """import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp('sleep', ['assay-left', '{seconds}'])
    time.sleep(600)"""
#: A user of these files alone: what uses up all processes of a user hinders no other test.
BOMBER = (61_000 + os.getpid() % 4000,) * 2 if os.geteuid() == 0 else None
#: What a file does while it is loaded → part of its reason; "" where it is listed as usual.
HOSTILE = {
    "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()": "",
    "import sys; sys.exit(3)": "calls exit(3) while it is loaded",
    "import os; os._exit(4)": "ends the process that loads it, with status 4",
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV); import ctypes; ctypes.string_at(0)": (
        "ended by SIG"
    ),
    "import socket; socket.create_connection(('203.0.113.1', 80))": "to 203.0.113.1",
    "import urllib.request; urllib.request.urlopen('http://suite.invalid')": "to suite.invalid",
    "x = bytearray(1 << 40)": "GiB of memory",
    "x = [bytearray(1 << 24) for _ in range(100000)]": "GiB of memory",
    "raise RuntimeError('a\\nb\\x1b[31m')": "RuntimeError: a b",
    "import os, time\nwhile os.fork(): pass\ntime.sleep(600)": "BlockingIOError",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "def": "SyntaxError",
    GARBAGE: "",
    "import sys; sys.stdout.write('x' * 10**8)": "",
}


@pytest.fixture
def suite() -> Iterator[Path]:
    """A folder that any user can read; other runs of pytest take that right from its own."""
    with tempfile.TemporaryDirectory(prefix="assay-suite-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(params=["namespaces", "limits"])
def isolation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways; the second is what kernels without namespaces leave."""
    monkeypatch.setattr(children, "NAMESPACES", request.param == "namespaces")
    return str(request.param)


def listed(
    folder: Path, *deeds: str, limit_s: float = 600.0, user: tuple[int, int] | None = None
) -> list[Listing]:
    """Files that do these deeds and then define a test, and a plain file behind them."""
    files = []
    for number, deed in enumerate((*deeds, "")):
        files.append(folder / f"file_{number:02}.py")
        files[-1].write_text(f"import reframe\n{deed}\n{TEST}")
    *found, last = list_files(files, Surroundings(limit_s=limit_s, user=user), workers=2)
    late = last.seconds >= limit_s and last.refused == f"does not end within {limit_s:g} s"
    assert late or [cls.name for cls in last.classes] == ["Plain"], last.refused
    return found


def test_every_hostile_file_is_listed_or_refused_in_a_line(suite: Path, isolation: str) -> None:
    listings = listed(suite, *HOSTILE, user=BOMBER)
    for (deed, reason), found in zip(HOSTILE.items(), listings, strict=True):
        assert found.isolation == isolation
        assert reason in found.refused, deed
        assert bool(found.refused) == bool(reason), (deed, found.refused)
        assert found.refused.isprintable()
        assert len(found.classes) == (0 if reason else 1), deed


def test_a_file_that_does_not_end_is_stopped(suite: Path, isolation: str) -> None:
    for one in listed(suite, "import time; time.sleep(600)", "while True: pass", limit_s=2.0):
        assert one.refused == "does not end within 2 s"


def test_forged_json_is_no_answer(suite: Path, isolation: str) -> None:
    (found,) = listed(suite, FORGED)
    assert "gives no listing" in found.refused
    assert found.file == str(suite / "file_00.py")


def test_a_file_that_kills_its_parent_ends_nothing(suite: Path, isolation: str) -> None:
    deed = "import os, signal\nfor pid in (os.getppid(), 0): os.kill(pid, signal.SIGKILL)"
    (found,) = listed(suite, deed)
    said = ("PermissionError", "ends the process that lists files")
    assert found.classes or any(words in found.refused for words in said)


def left_behind(seconds: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes() == f"assay-left\0{seconds}\0".encode():
                found.append(process.name)
        except OSError:
            continue
    return found


def test_what_a_file_forks_ends_with_it(suite: Path, isolation: str) -> None:
    seconds = str(100_000 + os.getpid())
    (found,) = listed(suite, FORK.replace("{seconds}", seconds))
    assert [cls.name for cls in found.classes] == ["Plain"]
    assert left_behind(seconds) == []


@pytest.fixture
def open_folder(suite: Path) -> Path:
    """A folder that every user may write into."""
    folder = suite / "open"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.mark.parametrize(
    "deed",
    [
        "open('{path}/new', 'w').write('x')",
        "import os; os.mkdir('{path}/new')",
        "import os; os.remove('{path}/old')",
        "import os; os.rename('{path}/old', '{path}/new')",
        "import pathlib; pathlib.Path('{path}/old').write_text('changed')",
        "import subprocess; subprocess.run(['dd', 'if=/dev/zero', 'of={path}/old', 'count=1'],"
        " check=True)",
    ],
)
def test_nothing_is_written_outside(open_folder: Path, isolation: str, deed: str) -> None:
    old = open_folder / "old"
    old.write_text("as it was")
    old.chmod(0o666)
    before = old.stat().st_mtime_ns
    (found,) = listed(open_folder.parent, deed.replace("{path}", str(open_folder)))
    assert sorted(path.name for path in open_folder.iterdir()) == ["old"]
    assert found.refused
    if "subprocess" not in deed:
        assert f"writes {open_folder}" in found.refused
    if isolation == "namespaces" or "dd" not in deed:
        assert (old.read_text(), old.stat().st_mtime_ns) == ("as it was", before)


def test_a_file_may_use_its_own_folder(suite: Path) -> None:
    deed = "import tempfile; tempfile.NamedTemporaryFile().write(b'x')"
    (found,) = listed(suite, deed)
    assert (found.refused, found.touched.written) == ("", [])


@pytest.fixture
def unix_socket(open_folder: Path) -> Iterator[Path]:
    path = open_folder / "service"
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(path))
        service.listen()
        path.chmod(0o777)
        yield path


def test_no_service_of_the_machine_is_asked(unix_socket: Path, isolation: str) -> None:
    deed = f"import socket; socket.socket(socket.AF_UNIX).connect({str(unix_socket)!r})"
    (found,) = listed(unix_socket.parents[1], deed)
    assert "opens a network connection" in found.refused


def test_a_file_runs_without_privileges(suite: Path, isolation: str) -> None:
    deed = (
        "import os; status = open('/proc/self/status').read()\n"
        "raise ValueError(f\"{os.getuid()} {status.split('CapEff:')[1].split()[0]}"
        " {status.split('NoNewPrivs:')[1].split()[0]}\")"
    )
    user = os.getuid() or 65534
    for asked in (None, (os.getuid(), os.getgid())):  # root is never meant
        (found,) = listed(suite, deed, user=asked)
        assert f"ValueError: {user} {0:016x} 1" in found.refused


def test_a_file_that_its_user_must_not_read_is_named(suite: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("files of the caller are readable for the caller")
    file = suite / "private.py"
    file.write_text(TEST)
    file.chmod(0o600)
    (found,) = list_files([file])
    assert f"must not read {file}" in found.refused


def test_a_file_does_not_see_the_caller_s_variables(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_NOTIFY", "mailto://secret")
    (found,) = listed(suite, "import os; os.environ['ASSAY_NOTIFY']")
    assert "needs the environment variable ASSAY_NOTIFY" in found.refused


def test_a_file_that_uses_up_all_processes_has_no_other_refused(
    suite: Path, isolation: str
) -> None:
    bomb = "import os, time\ntry:\n  while os.fork(): pass\nfinally: time.sleep(600)"
    thread = next(deed for deed in HOSTILE if "threading.Thread" in deed)
    found = listed(suite, bomb, f"import time; time.sleep(6); {thread}", limit_s=20, user=BOMBER)
    assert [one.refused for one in found] == ["does not end within 20 s", ""]
