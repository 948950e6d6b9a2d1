# SPDX-License-Identifier: Apache-2.0
"""Listing survives every broken file: it is listed or refused in a line, and the others go on."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from plugins.reframe.foreign import children
from plugins.reframe.foreign.children import list_files
from plugins.reframe.foreign.listing import Listing, Surroundings
from plugins.reframe.tests.test_foreign_listing import TEST

LEFT = ["sleep", f"{100_000 + os.getpid()}"]
#: What a file does while it is loaded → part of its reason; "" where it is listed as usual.
BROKEN = {
    "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()": "",
    f"import subprocess; subprocess.Popen({LEFT})": "",
    f"import os\nif os.fork() == 0: os.execvp('sleep', {LEFT})": "",
    "import os; os.fork()": "",
    "import sys; sys.stdout.write('\\x1b[2J{]' * 1000); sys.stdout.flush()": "",
    "while True: print('x' * 10**6)": "File too large",
    "import os; os.write(1, b'so far\\n'); os._exit(4)": "with status 4; it prints: so far",
    "import os; os._exit(0)": "ends the process that loads it, with status 0",
    "import sys; sys.exit(3)": "calls exit(3) while it is loaded",
    "import ctypes; ctypes.string_at(0)": "ended by SIGSEGV",
    "import os, signal; os.kill(0, signal.SIGKILL)": "ended by SIGKILL",
    "x = [bytes(1 << 24) for _ in range(100000)]": "GiB of memory",
    "raise RuntimeError('a\\nb\\x1b[31m')": "RuntimeError: a b",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "def": "SyntaxError",
    "input()": "EOFError",
    "import os; os.environ['ASSAY_NOTIFY']": "needs the environment variable ASSAY_NOTIFY",
}
#: The same where the kernel gives namespaces; `{path}`: a folder with a file.
KEPT_APART = {
    "import socket; socket.create_connection(('203.0.113.1', 80))": "allow that with --network",
    "import urllib.request; urllib.request.urlopen('http://x.invalid')": "needs the network",
    "open('{path}/new', 'w').write('x')": "writes {path}",
    "import shutil; shutil.rmtree('{path}')": "writes old",
    "import subprocess; subprocess.run(['rm', '{path}/old'], check=True)": "CalledProcessError",
    "import os, signal; os.kill(os.getppid(), signal.SIGKILL)": "",
    "import os; assert os.getppid() == 1 and os.getuid() == {uid}": "",
}


@pytest.fixture(params=["namespaces", "none"])
def isolation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways; the second is what kernels without namespaces leave."""
    if request.param == "none":
        monkeypatch.setattr(children, "_UNSHARE", ("unshare", "--refused"))
    return str(request.param)


def listed(folder: Path, *deeds: str, limit_s: float = 600.0) -> list[Listing]:
    """Files that do these deeds and then define a test, and a plain file behind them."""
    files = []
    for number, deed in enumerate((*deeds, "")):
        files.append(folder / f"file_{number:02}.py")
        files[-1].write_text(f"import reframe\n{deed}\n{TEST}")
    *found, last = list_files(files, Surroundings(limit_s=limit_s))
    assert [cls.name for cls in last.classes] == ["Plain"], last.refused
    return found


def test_every_broken_file_is_listed_or_refused_in_a_line(
    tmp_path: Path, isolation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_NOTIFY", "mailto://secret")
    for (deed, reason), found in zip(BROKEN.items(), listed(tmp_path, *BROKEN), strict=True):
        assert (found.isolation, bool(found.refused)) == (isolation, bool(reason)), deed
        assert reason in found.refused, deed
        assert found.refused.isprintable()
        assert len(found.classes) == (0 if reason else 1), deed
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            assert (process / "cmdline").read_text().split("\0")[:2] != LEFT


def test_a_file_in_namespaces_neither_writes_nor_connects(tmp_path: Path) -> None:
    (path := tmp_path / "written").mkdir()
    (path / "old").write_text("as it was")
    deeds = [deed.replace("{path}", str(path)) for deed in KEPT_APART]
    deeds = [deed.replace("{uid}", str(os.geteuid())) for deed in deeds]
    for reason, found in zip(KEPT_APART.values(), listed(tmp_path, *deeds), strict=True):
        assert reason.replace("{path}", str(path)) in found.refused
        assert bool(found.refused) == bool(reason), found.refused
    assert [(one.name, one.read_text()) for one in path.iterdir()] == [("old", "as it was")]


def test_a_file_that_does_not_end_is_stopped(tmp_path: Path, isolation: str) -> None:
    for one in listed(tmp_path, "import time; time.sleep(600)", "while True: pass", limit_s=1.0):
        assert one.refused == "does not end within 1 s"


def test_a_file_may_use_its_own_folder(tmp_path: Path, isolation: str) -> None:
    (found,) = listed(tmp_path, "import tempfile; tempfile.NamedTemporaryFile().write(b'x')")
    assert found.refused == ""
