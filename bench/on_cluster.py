# SPDX-License-Identifier: Apache-2.0
"""A virtual cluster for a bench, and assay run on it in a folder of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from virtual_cluster import ClusterSpec, up

_ASSAY = Path(sys.executable).parent / "assay"


@contextmanager
def on_cluster(spec: ClusterSpec) -> Iterator[tuple[Any, Path]]:
    """The cluster, taken down in the end, and an empty folder. What the first campaign builds in
    the folder serves all others."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the cluster is taken down
    cluster = up(spec)
    try:
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            yield cluster, Path(folder)
    finally:
        cluster.down()


def run_campaign(folder: Path, campaign: str, cluster: str, *options: str) -> Path:
    """Run the text of a campaign with options of `assay run`; its run directory."""
    (folder / "campaign.yaml").write_text(campaign)
    return run(folder, "campaign.yaml", "--site", f"virtual:{cluster}", *options)


def run(folder: Path, *words: str) -> Path:
    """Run `assay run` with these words; its run directory."""
    assay(folder, "run", *words)
    return max(folder.glob("results/*/*"), key=lambda path: path.stat().st_ctime_ns)


def assay(folder: Path, *words: str) -> str:
    """Run assay in `folder`; its output. Raises RuntimeError where it could not do its work."""
    done = subprocess.run([_ASSAY, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode in (2, 4):
        raise RuntimeError(f"assay {' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout
