# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests: a cluster a worker, an empty folder, the text of a command."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from assay.tests.published_forms import published
from virtual_cluster.api import Cluster, down, up


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Of four nodes. What is built on it once is built for all."""
    from assay.tests.test_run_on_cluster import CLUSTER  # slow: only tests on clusters
    from virtual_cluster.tests.clusters import booted

    made = up(booted(CLUSTER, nodes=4, network="unlimited"), lambda _: None)
    yield made
    down(made.name)


@pytest.fixture(scope="module")
def believed() -> Iterator[None]:
    """Records of simulated runs, which no raw output bears out, are taken for read again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.run.rereading.Rereader.faults", lambda *_: iter(()))
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Gives what a command says that ends with a status, in one line: errors where it is one."""

    def ended(status: int, *words: str) -> str:
        capsys.readouterr()
        assert main([*words]) == status
        told = capsys.readouterr()
        return " ".join((told.err if status in (2, 4) else told.out).split())

    return ended


@pytest.fixture
def told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Gives the form that a command's words print, in an empty working folder: `told(words, status,
    form)`; by default the form is named as the first word."""
    from assay.cli import report  # slow: pages
    from assay.documents import acceptance_files

    monkeypatch.chdir(tmp_path)
    for printer in (acceptance_files, report):
        monkeypatch.setattr(printer, "find_browser", lambda: None)

    def form(words: str, status: int = 0, form: str = "") -> Any:
        capsys.readouterr()
        assert main([*words.split(), "--json"]) == status, words
        return published(form or words.split(maxsplit=1)[0], capsys.readouterr().out)

    return form
