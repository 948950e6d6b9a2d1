# SPDX-License-Identifier: Apache-2.0
"""Dry runs of our ReFrame sessions on a site of our own making, for tests."""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from assay.sites.site_file import read_description
from checks.common.tests.program_runs import ran

SESSION = Path(__file__).resolve().parent.parent / "session"


def make_site(folder: Path, programs: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Write a virtual site of two cores a node, with programs by environment, and changes."""
    site = read_description("virtual").model_dump(mode="json", by_alias=True)
    names = {"jobs": "assay-slurm", "steps": "assay-allocation", "alone": "assay-alone"}
    site.update(
        schedulers=names, cores_per_node=2, reframe_prefix=str(folder / "session"), **changes
    )
    for environment, named in programs.items():
        site["environments"][environment]["programs"] = named
    (folder / "session").mkdir()
    (folder / "site.json").write_text(json.dumps(site))
    return site


def dry_run(
    folder: Path, file: str, *options: str, more: Mapping[str, str] | None = None, **how: Any
) -> tuple[CompletedProcess[str], dict[Path, str]]:
    """Run a file of the session dry on that site: what ReFrame said, and its job scripts by
    folder."""
    there = str(folder / "site.json")
    variables = {"ASSAY_SITE_FILE": there, "ASSAY_HPL_ARCHIVE": there, **(more or {})}
    variables["ASSAY_LAUNCHES_FILE"] = str(folder / "launches.jsonl")
    reframe = [str(Path(sys.executable).with_name("reframe")), "-C", f"{SESSION}/settings.py"]
    words = [*reframe, "-c", f"{SESSION}/{file}", "--dry-run", *options]
    answer = ran(words, variables, cwd=folder, check=False, **how)
    scripts = (folder / "session").rglob("rfm_job.sh")
    return answer, {script.parent: script.read_text() for script in scripts}


def write_launches(folder: Path, launches: Iterable[Mapping[str, Any]]) -> None:
    """Write the list of launches that `launches.py` reads."""
    lines = (f"{json.dumps(launch)}\n" for launch in launches)
    (folder / "launches.jsonl").write_text("".join(lines))
