# SPDX-License-Identifier: Apache-2.0
"""From the CAMPAIGN of a command line to a validated campaign, or one message with every fault."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from assay import ROOT, known_files
from assay.schema.document import clipped, read_text
from assay.schema.model import Campaign, Origin
from assay.schema.problems import checked, did_you_mean, listed
from assay.schema.rules import campaign_problems, refuse_too_many_cases
from checks.common.registry import CHECKS, Checks, checks_with
from records.errors import AssayError
from records.input_files import read_whole
from records.plugins import folders
from records.run.plan import Plan

#: The campaign that a night writes into its run, an acceptance into a folder below.
RERUN = "rerun.yaml"
#: Folders of campaigns/ with files of another kind.
_NOT_CAMPAIGNS = ("criteria", "contracts")
_NEEDS = (
    "a campaign is a mapping with at least the keys schema, name, question, environments and cases"
)


def campaign_names() -> list[str]:
    """Names of the campaigns of the working folder and of Assay."""
    return sorted(_known())


def _known() -> dict[str, Path]:
    """Campaigns of plugins, of `campaigns/` and of the folders below it, by name: those of Assay,
    then those of the working folder, which come first."""
    files = [
        *(
            path
            for folder in folders("campaigns").values()
            for path in sorted(folder.glob("*.yaml"))
        ),
        *known_files(ROOT / "campaigns", "campaigns", "**/*.yaml"),
    ]
    return {path.stem: path for path in files if path.parent.name not in _NOT_CAMPAIGNS}


def load_campaign(name_or_path: str) -> Campaign:
    """The campaign of a name in `campaigns/`, or else of a file.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = file_of(name_or_path, "campaign", _known(), "campaigns")
    above = path.absolute().parents[:2] if path.name == RERUN else ()
    checks = CHECKS
    for plan in (folder / "plan.json" for folder in above):
        if plan.is_file():  # of the run, which brought checks
            checks = checks_with(Plan.from_json(read_whole(plan), str(plan)).brought)
    return campaign_from_text(str(path), read_text(path), checks)


def campaign_from_text(file: str, text: str, known: Checks = CHECKS) -> Campaign:
    """The campaign of a text, which may name the checks that are `known`; `file` is its name for
    messages. Raises as `load_campaign`."""
    checks = dict(known)
    problems_of = partial(campaign_problems, folder=Path(file).parent, checks=checks)
    value = checked(file, text, _NEEDS, problems_of)
    campaign = Campaign.model_validate(value)
    lines = tuple(value.line_of(("cases", i)) for i in range(len(campaign.cases)))
    campaign._origin, campaign._checks = Origin(file, text, lines), checks
    refuse_too_many_cases(campaign)
    return campaign


def file_of(name_or_path: str, kind: str, known: Mapping[str, Path], folder: str) -> Path:
    """The file that a command line means: one of those `known` of `folder`, or that of a path."""
    if name_or_path in known:
        return known[name_or_path]
    path = Path(name_or_path)
    try:
        if path.is_file():
            return path
        exists, is_folder = path.exists() and bool(name_or_path), path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        exists = False
    if exists:
        what = "a directory" if is_folder else "not a regular file"
        raise AssayError(f"{name_or_path}: is {what}; give a {kind} file")
    raise AssayError(
        f"no {kind} {clipped(name_or_path)!r}{did_you_mean(name_or_path, known)}: it is neither a"
        f" name in {folder}/ ({listed(sorted(known))}) nor a file"
    )
