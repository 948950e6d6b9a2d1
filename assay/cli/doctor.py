# SPDX-License-Identifier: Apache-2.0
"""`assay doctor`: what is missing, and the command that installs or corrects it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from assay.requirements import DoctorForm, Requirement, cluster_machine, site_machine
from assay.terminal import say
from records.errors import ExitStatus
from records.forms import as_text


def doctor_command(arguments: argparse.Namespace) -> int:
    """`assay doctor`."""
    if arguments.site:
        from assay.onboarding.requirements import site_requirements  # slow: reads sites

        found = [*site_machine(), *site_requirements(arguments.site)]
        return tell(found, as_json=arguments.json)
    found = [*site_machine(), *cluster_machine(needed=False)]
    status = tell(found, as_json=arguments.json)
    if not arguments.json and not all(one.found for one in found):
        say("what is absent is for virtual clusters only; --site SITE checks what a site needs")
    return status


def tell(requirements: Iterable[Requirement], *, as_json: bool = False) -> int:
    """Print the requirements; gives the exit status."""
    found = list(requirements)
    if as_json:
        print(as_text(DoctorForm(findings=found)), end="")
    else:
        say("\n".join(map(_line, found)), hang=len("MISSING  "))
    missing = any(not one.found for one in found if one.needed)
    return ExitStatus.INFRASTRUCTURE if missing else ExitStatus.PASS


def _line(one: Requirement) -> str:
    if one.found:
        return f"found    {one.what}: {one.seen}"
    detail = f" ({one.seen})" if one.seen else ""
    return f"{'MISSING' if one.needed else 'absent '}  {one.what}{detail}: {one.remedy}"
