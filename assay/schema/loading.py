# SPDX-License-Identifier: Apache-2.0
"""From the CAMPAIGN of a command line to a validated campaign, or one message with every fault."""

from __future__ import annotations

import re
from pathlib import Path

from assay import ROOT
from assay.schema.combinations import refuse_too_many_cases
from assay.schema.document import clipped, read_text
from assay.schema.model import Campaign, Origin
from assay.schema.problems import checked, did_you_mean, listed
from assay.schema.rules import campaign_problems
from records.errors import AssayError
from records.sections import NAME_PATTERN

CAMPAIGNS_FOLDER = ROOT / "campaigns"
_NEEDS = (
    "a campaign is a mapping with at least the keys schema, name, question, environments and cases"
)


def campaign_names() -> list[str]:
    """Names of the campaigns that come with Assay."""
    return sorted(_shipped())


def _shipped() -> dict[str, Path]:
    """The campaigns of `campaigns/` and of its studies in `papers/`, by name."""
    return {
        path.stem: path
        for path in sorted(CAMPAIGNS_FOLDER.glob("**/*.yaml"))
        if path.parent.name != "criteria"
    }


def load_campaign(name_or_path: str) -> Campaign:
    """The campaign of a name in `campaigns/`, or else of a file.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = _find(name_or_path)
    return campaign_from_text(str(path), read_text(path))


def campaign_from_text(file: str, text: str) -> Campaign:
    """The campaign of a text; `file` is its name for messages. Raises as `load_campaign`."""
    document = checked(file, text, _NEEDS, campaign_problems)
    campaign = Campaign.model_validate(document.value)
    lines = tuple(document.line(("cases", i)) for i in range(len(campaign.cases)))
    campaign._origin = Origin(file, text, lines)
    refuse_too_many_cases(campaign)
    return campaign


def _find(name_or_path: str) -> Path:
    if re.fullmatch(NAME_PATTERN, name_or_path):
        shipped = _shipped().get(name_or_path)
        if shipped is not None:
            return shipped
    try:
        path = Path(name_or_path)
        if path.is_file():
            return path
        exists, folder = path.exists() and bool(name_or_path), path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        exists = False
    if exists:
        kind = "a directory" if folder else "not a regular file"
        raise AssayError(f"{name_or_path}: is {kind}; give a campaign file")
    names = campaign_names()
    raise AssayError(
        f"no campaign {clipped(name_or_path)!r}{did_you_mean(name_or_path, names)}: it is neither a"
        f" name in campaigns/ ({listed(names)}) nor a file"
    )
