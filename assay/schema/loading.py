# SPDX-License-Identifier: Apache-2.0
"""From the CAMPAIGN of a command line to a validated campaign, or one message with every fault."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from assay.schema.combinations import refuse_too_many_cases
from assay.schema.document import Document, Location, Problem, clipped, parse
from assay.schema.messages import did_you_mean, found, listed
from assay.schema.model import NAME_PATTERN, Campaign, Origin
from assay.schema.rules import campaign_problems
from records.errors import AssayError

MAX_FILE_BYTES = 2**20
MAX_SHOWN_PROBLEMS = 20

CAMPAIGNS_FOLDER = Path(__file__).resolve().parents[2] / "campaigns"


def campaign_names() -> list[str]:
    """Names of the campaigns that come with Assay."""
    return sorted(path.stem for path in CAMPAIGNS_FOLDER.glob("*.yaml"))


def load_campaign(name_or_path: str) -> Campaign:
    """The campaign of a name in `campaigns/`, or of a file; such a name goes before a file.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = _find(name_or_path)
    return campaign_from_text(str(path), read_text(path))


def campaign_from_text(file: str, text: str) -> Campaign:
    """The campaign a text describes; `file` is its name for messages. Raises as `load_campaign`."""
    document = parse(file, text)
    if not isinstance(document.value, dict):
        raise AssayError(
            f"{file}:1: found {found(document.value)}; a campaign is a mapping with the keys"
            f" {listed(_key_names())}"
        )
    refuse(document, campaign_problems(document.value))
    campaign = Campaign.model_validate(document.value)
    lines = tuple(document.line(("cases", i)) for i in range(len(campaign.cases)))
    campaign._origin = Origin(file, text, lines)
    refuse_too_many_cases(campaign)
    return campaign


def _key_names() -> list[str]:
    return [field.alias or name for name, field in Campaign.model_fields.items()]


def _find(name_or_path: str) -> Path:
    if re.fullmatch(NAME_PATTERN, name_or_path):
        packaged = CAMPAIGNS_FOLDER / f"{name_or_path}.yaml"
        if packaged.is_file():
            return packaged
    try:
        path = Path(name_or_path)
        if path.is_dir() and name_or_path:
            raise AssayError(f"{name_or_path}: is a directory; give a campaign file")
        if path.is_file():
            return path
        exists = path.exists() and bool(name_or_path)
    except (OSError, ValueError):
        exists = False
    if exists:
        raise AssayError(f"{name_or_path}: is not a regular file; give a campaign file")
    names = campaign_names()
    raise AssayError(
        f"no campaign {clipped(name_or_path)!r}{did_you_mean(name_or_path, names)}: it is neither a"
        f" name in campaigns/ ({listed(names)}) nor a file"
    )


def read_text(path: Path) -> str:
    """The text of a file that people write, at most MAX_FILE_BYTES of UTF-8."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise AssayError(
            f"{path}: cannot be read ({error.strerror}); check the file and its permissions"
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise AssayError(
            f"{path}: is larger than {MAX_FILE_BYTES} bytes; use matrix instead of listing cases"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AssayError(
            f"{path}:{line}: is not UTF-8 text (byte 0x{content[error.start]:02x} at offset"
            f" {error.start}); save it as UTF-8"
        ) from None


def refuse(document: Document, problems_found: Iterable[Problem]) -> None:
    """Raise AssayError with all problems of a document, its own and these, if there is any."""
    known = [problem.location for problem in document.problems]
    fresh = (p for p in problems_found if not _inside(p.location, known))
    problems = [*document.problems, *islice(fresh, MAX_SHOWN_PROBLEMS + 1)]
    if not problems:
        return
    problems.sort(key=lambda problem: document.line(problem.location))
    lines = [_sentence(document, problem) for problem in problems[:MAX_SHOWN_PROBLEMS]]
    if len(problems) > MAX_SHOWN_PROBLEMS:
        lines.append(f"{document.file}: … and more, not shown; mend these first")
    raise AssayError("\n".join(lines))


def _inside(location: Location, places: list[Location]) -> bool:
    return any(location[: len(place)] == place for place in places)


def _sentence(document: Document, problem: Problem) -> str:
    line = document.line(problem.location)
    return f"{document.file}:{line}: {_dotted(problem.location)}{problem.message}"


def _dotted(location: Location) -> str:
    """A place as people write it: "cases[0].fixed.nb: "."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part != "again" and not part.startswith("line "):
            text += f".{clipped(part)}"
    return text.removeprefix(".") + ": " if text else ""
