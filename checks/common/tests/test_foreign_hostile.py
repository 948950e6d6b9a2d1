# SPDX-License-Identifier: Apache-2.0
"""Listing survives every file: a hostile one is listed or refused, and the others go on."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
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
LEFT = f"assay-left\0{100_000 + os.getpid()}\0"
FORK = f"""import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp('sleep', {LEFT.split(chr(0))[:2]})
    time.sleep(600)"""
THREAD = "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()"
DD = "import subprocess; subprocess.run(['dd', 'if=/dev/zero', 'of={path}/old'], check=True)"
UNIX = "import socket; socket.socket(socket.AF_UNIX).connect('{path}/service')"
#: A user of these files alone: what uses up all processes of a user hinders no other test.
BOMBER = (61_000 + os.getpid() % 4000,) * 2 if os.geteuid() == 0 else None
#: What a file does while it is loaded → part of its reason; "" where it is listed as usual.
#: `{path}`: a folder that every user may write into, with a file and a service.
HOSTILE = {
    THREAD: "",
    "import sys; sys.exit(3)": "calls exit(3) while it is loaded",
    "import os; os._exit(4)": "ends the process that loads it, with status 4",
    "import ctypes; ctypes.string_at(0)": "ended by SIG",
    "import socket; socket.create_connection(('203.0.113.1', 80))": "to 203.0.113.1",
    "import urllib.request; urllib.request.urlopen('http://suite.invalid')": "to suite.invalid",
    UNIX: "opens a network connection",
    "x = bytearray(1 << 40)": "GiB of memory",
    "x = [bytearray(1 << 24) for _ in range(100000)]": "GiB of memory",
    "raise RuntimeError('a\\nb\\x1b[31m')": "RuntimeError: a b",
    "import os, time\nwhile os.fork(): pass\ntime.sleep(600)": "BlockingIOError",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "def": "SyntaxError",
    GARBAGE: "",
    "import sys; sys.stdout.write('x' * 10**8)": "",
    FORGED: "gives no listing",
    FORK: "",
    "import os; os.environ['ASSAY_NOTIFY']": "needs the environment variable ASSAY_NOTIFY",
    "open('{path}/new', 'w').write('x')": "writes {path}",
    "import os; os.mkdir('{path}/new')": "writes {path}",
    "import os; os.remove('{path}/old')": "writes {path}",
    "import os; os.rename('{path}/old', '{path}/new')": "writes {path}",
    "import pathlib; pathlib.Path('{path}/old').write_text('changed')": "writes {path}",
    DD: "it runs dd",
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


def open_folder(path: Path) -> tuple[Path, int]:
    """A folder that every user may write into, with a file, and when that was written."""
    path.mkdir()
    path.chmod(0o777)
    (path / "old").write_text("as it was")
    (path / "old").chmod(0o666)
    return path, (path / "old").stat().st_mtime_ns


@pytest.mark.full(sample=3)
@pytest.mark.parametrize("third", range(3))
def test_every_hostile_file_is_listed_or_refused_in_a_line(
    suite: Path, isolation: str, third: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_NOTIFY", "mailto://secret")
    hostile = dict([*HOSTILE.items()][third::3])
    folders = [open_folder(suite / f"open_{number:02}") for number in range(len(hostile))]
    deeds = [
        deed.replace("{path}", str(path)) for deed, (path, _) in zip(hostile, folders, strict=True)
    ]
    with socket.socket(socket.AF_UNIX) as service:
        served = [number for number, deed in enumerate(hostile) if "AF_UNIX" in deed] or [0]
        service.bind(address := f"{folders[served[0]][0]}/service")
        service.listen()
        Path(address).chmod(0o777)
        listings = listed(suite, *deeds, user=BOMBER)
        Path(address).unlink()
    rows = zip(hostile.items(), listings, folders, strict=True)
    for number, ((deed, reason), found, (path, written)) in enumerate(rows):
        assert (found.isolation, found.file) == (isolation, str(suite / f"file_{number:02}.py"))
        assert reason.replace("{path}", str(path)) in found.refused, deed
        assert bool(found.refused) == bool(reason), (deed, found.refused)
        assert found.refused.isprintable()
        assert len(found.classes) == (0 if reason else 1), deed
        assert [one.name for one in path.iterdir()] == ["old"], deed
        old = path / "old"
        if isolation == "namespaces" or deed != DD:
            assert (old.read_text(), old.stat().st_mtime_ns) == ("as it was", written), deed
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            assert (process / "cmdline").read_text() != LEFT


def test_a_file_that_does_not_end_is_stopped(suite: Path, isolation: str) -> None:
    for one in listed(suite, "import time; time.sleep(600)", "while True: pass", limit_s=2.0):
        assert one.refused == "does not end within 2 s"


def test_a_file_that_kills_its_parent_ends_nothing(suite: Path, isolation: str) -> None:
    deed = "import os, signal\nfor pid in (os.getppid(), 0): os.kill(pid, signal.SIGKILL)"
    (found,) = listed(suite, deed)
    said = ("PermissionError", "ends the process that lists files")
    assert found.classes or any(words in found.refused for words in said)


def test_a_file_may_use_its_own_folder(suite: Path) -> None:
    (found,) = listed(suite, "import tempfile; tempfile.NamedTemporaryFile().write(b'x')")
    assert (found.refused, found.touched.written) == ("", [])


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


@pytest.mark.full
def test_a_file_that_uses_up_all_processes_has_no_other_refused(
    suite: Path, isolation: str
) -> None:
    bomb = "import os, time\ntry:\n  while os.fork(): pass\nfinally: time.sleep(600)"
    found = listed(suite, bomb, f"import time; time.sleep(6); {THREAD}", limit_s=20, user=BOMBER)
    assert [one.refused for one in found] == ["does not end within 20 s", ""]
