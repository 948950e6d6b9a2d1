# SPDX-License-Identifier: Apache-2.0
"""Notifications: a real HTTP server gets them, secrets stay secret, failures change nothing."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from assay.cli import main
from assay.nightly import Notice, Notifier, addresses_of
from records.errors import AssayError, InfrastructureError
from records.history.model import Missed
from records.history.store import Store
from reports.tests.synthetic import chained
from reports.tests.test_nightly_history import write_night

apprise = pytest.importorskip("apprise", reason="no apprise: .venv/bin/pip install 'assay[notify]'")
Capture = pytest.CaptureFixture[str]
HISTORY = Path("results/history.sqlite")


class Webhook(HTTPServer):
    """Keeps what is posted to it; answers `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.posted: list[dict[str, Any]] = []
        self.status = 200

        self.address = f"json://user:geheim@127.0.0.1:{self.server_port}/path"

    @property
    def titles(self) -> list[str]:
        return [one["title"] for one in self.posted]


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.posted.append(json.loads(self.rfile.read(length)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def addressed(text: str, mode: int = 0o600) -> Path:
    file = Path("results/history.notify")
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{text}\n")
    file.chmod(mode)
    return file


@pytest.fixture
def webhook(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    """The address of all notifications; it is waited for ten minutes."""
    monkeypatch.setattr("assay.nightly.NOTIFY_S", 600.0)
    server = Webhook()
    addressed(server.address)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def add(number: int, **how: Any) -> None:
    run = write_night(Path.cwd(), number, **how)
    rerun = ["--rerun-of", run.name[:-1]] if "suffix" in how else []
    assert main(["nightly", "add", str(run), *rerun]) == 0


def test_a_regression_reaches_a_webhook_and_a_broken_one_changes_no_status(
    webhook: Webhook, capsys: Capture
) -> None:
    for number in range(1, 13):
        add(number)
    addressed(f"# whom\n{webhook.address}\n")
    assert main(["nightly", "check", "--notify"]) == 0
    add(13, slower=1.2)
    add(13, slower=1.2, suffix="b")
    assert main(["nightly", "check"]) == 1
    assert not webhook.posted
    assert main(["nightly", "check", "--notify"]) == 1
    (told,) = webhook.posted
    assert (told["title"], told["type"]) == ("quick on virtual: regression", "failure")
    assert "slower" in told["message"]
    webhook.status = 500
    capsys.readouterr()
    assert main(["nightly", "check", "--notify"]) == 1
    said = capsys.readouterr()
    assert "json://…: not notified" in said.err
    assert "geheim" not in said.out + said.err


def slow_night(nodes: int = 2) -> None:
    """Twelve nights, then a slow one on a site of so many nodes, whose re-run is slow, too."""
    for number in range(1, 13):
        add(number)
    slow = write_night(Path.cwd(), 13, slower=1.2)
    provenance = json.loads((slow / "provenance.json").read_bytes())
    provenance["site"]["nodes"] = nodes
    (slow / "provenance.json").write_text(json.dumps(provenance))
    chained(slow)
    assert main(["nightly", "add", str(slow)]) == 0
    add(13, slower=1.2, suffix="b")


@pytest.mark.parametrize("error", [InfrastructureError("n3: drained"), OSError(28, "disk full")])
def test_a_regression_is_told_though_it_cannot_be_run_again_elsewhere(
    webhook: Webhook, capsys: Capture, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    slow_night(nodes=8)
    monkeypatch.setattr("assay.nightly.start_run", Mock(side_effect=error))
    capsys.readouterr()
    assert main(["nightly", "check", "--rerun", "--notify", "--json"]) == 4
    told = capsys.readouterr()
    assert webhook.titles == ["quick on virtual: regression", "quick on virtual: not run again"]
    assert told.err == f"assay: not run again: {error}\n"
    assert str(error) in webhook.posted[1]["message"]
    night = json.loads(told.out)
    assert (night["verdict"], night["exit_status"]) == ("FAIL", 4)
    assert Path("results/quick-nightly-virtual/index.html").is_file()


def test_a_regression_is_told_though_its_pages_cannot_be_written(webhook: Webhook) -> None:
    slow_night()
    Path("file").touch()
    assert main(["nightly", "check", "--notify", "--out", "file/x"]) == 4
    assert webhook.titles == ["quick on virtual: regression"]


NIGHTLY = ["nightly", "run", "--campaign", "quick", "--site", "virtual"]


def test_a_night_that_ran_and_cannot_be_added_is_told(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_night(Path.cwd(), 1)
    (run / "records.jsonl").write_bytes(b"{\n" * 2)
    started = SimpleNamespace(run_id=run.name)
    monkeypatch.setattr("assay.cli.nightly.start_run", lambda *_: started)
    assert main(NIGHTLY) == 2
    assert webhook.titles == ["quick on virtual: night not finished"]
    assert "records.jsonl" in webhook.posted[0]["message"]
    assert run.name in webhook.posted[0]["message"]


def test_a_secret_in_the_reason_of_a_missed_night_is_withheld_everywhere(
    webhook: Webhook, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = InfrastructureError("sbatch: HUB_TOKEN=geheim was not taken")
    monkeypatch.setattr("assay.cli.nightly.start_run", Mock(side_effect=error))
    assert main(NIGHTLY) == 4
    with Store(HISTORY) as store:
        (missed,) = store.missed(None, None)
        # A history written before keeps the text as it was.
        store.add_missed(Missed("virtual", "quick", "2026-01-01T02:00:00Z", "HUB_TOKEN=geheim"))
    assert missed.reason == "sbatch: HUB_TOKEN=(withheld: looks like a secret) was not taken"
    capsys.readouterr()
    for words in ("show", "show --json"):
        main(["nightly", *words.split()])
    said = " ".join((capsys.readouterr().out + json.dumps(webhook.posted)).split())
    assert said.count("HUB_TOKEN=(withheld: looks like a secret)") == 5
    assert "geheim" not in said
    assert "secret) looks" not in said


@pytest.mark.usefixtures("place")
def test_addresses_are_ones_own_and_never_shown(capsys: Capture) -> None:
    notice = [Notice("warning", "title", "body")]
    addressed("json://user:geheim@127.0.0.1:9/x", 0o640)
    with pytest.raises(AssayError, match="chmod 600"):
        addresses_of(HISTORY)
    Notifier(HISTORY).send(notice)
    for line in ("alarm json://u:geheim@h", "geheim", "json://geheim json://h"):
        addressed(line)
        with pytest.raises(AssayError, match=r"history\.notify:1") as error:
            addresses_of(HISTORY)
        assert "geheim" not in str(error.value)
    addressed("nonsense://geheim\njson://geheim:geheim@127.0.0.1:9")
    Notifier(HISTORY).send(notice)
    said = capsys.readouterr().err
    assert said.count("not notified") == 2
    assert "geheim" not in said


@pytest.mark.parametrize("path", ["/", "."])
def test_a_history_that_is_a_folder_is_one_message(path: str, place: Path, capsys: Capture) -> None:
    assert main(["nightly", "run", "--campaign", "none", "--history", path]) == 2
    assert f"{path}: is no regular file" in capsys.readouterr().err
