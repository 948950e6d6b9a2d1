# SPDX-License-Identifier: Apache-2.0
"""`assay doctor`: what is missing, and the command that installs or corrects it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from assay.cli import arguments as shared
from assay.cli.arguments import JSON, argument
from assay.requirements import (
    DoctorForm,
    Requirement,
    cluster_machine,
    site_machine,
    site_requirements,
)
from assay.terminal import say
from records.errors import ExitStatus
from records.forms import as_text

#: What the command of a missing package begins with.
_INSTALL = "apt-get install "


def doctor_command(arguments: argparse.Namespace) -> int:
    """`assay doctor`."""
    if arguments.site:
        found = [*site_machine(), *site_requirements(arguments.site)]
        return tell(found, as_json=arguments.json)
    found = [*site_machine(), *cluster_machine(needed=False)]
    use = "needed by a virtual cluster or check hpl only"
    return tell(found, as_json=arguments.json, optional=use)


def tell(
    requirements: Iterable[Requirement], *, as_json: bool = False, optional: str = "optional"
) -> int:
    """Print the requirements and a summary; `optional`: the use of those that are not needed.
    Gives the exit status."""
    found = list(requirements)
    if as_json:
        print(as_text(DoctorForm(findings=found)), end="")
    else:
        for one in found:
            detail = f" ({one.seen})" if one.seen else ""
            word = "MISSING" if one.needed else "absent "
            line = f"{word}  {one.what}{detail}: {one.remedy}"
            say(f"found    {one.what}: {one.seen}" if one.found else line, hang=len("MISSING  "))
        say(_summary(found, optional))
    missing = any(not one.found for one in found if one.needed)
    return ExitStatus.INFRASTRUCTURE if missing else ExitStatus.PASS


def _summary(found: Sequence[Requirement], optional: str) -> str:
    """Line with what is missing, and the command to run first."""
    gone = [one for one in found if not one.found]
    if not gone:
        return "all there"
    missing = [one for one in gone if one.needed]
    remedies = list(dict.fromkeys(one.remedy for one in missing or gone))
    packages = [one.removeprefix(_INSTALL) for one in remedies if one.startswith(_INSTALL)]
    first = _INSTALL + " ".join(packages) if packages else remedies[0]
    again = "; then assay doctor again" if len(remedies) > max(1, len(packages)) else ""
    count = f"{len(missing)} missing"
    if not missing:
        count = f"all there that a Slurm site needs; {len(gone)} absent, {optional}"
    return f"{count}: {first}{again}"


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay doctor`."""
    shared.declare(
        parser,
        doctor_command,
        argument("--site SITE", "check what this site needs"),
        JSON,
    )
