# SPDX-License-Identifier: Apache-2.0
"""The longest job that accounting lets the user run: `sbatch --test-only` does not tell it.

Without slurmdbd, or where Slurm does not enforce limits, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.sites.site import Site
from checks.common.slurm.text import seconds_of

_ACCOUNT = re.compile(r"--account=(.+)|-A\s*(.+)")
_QOS = re.compile(r"--qos=(.+)|-q\s*(.+)")


def longest_by_accounting(site: Site) -> int | None:
    """Seconds of MaxWall of the QOS that the site's jobs have, else of the account; None: none."""
    settings = site.slurm_output("scontrol", "show", "config")
    enforced = re.search(r"^AccountingStorageEnforce\s*=\s*(.*)$", settings, re.MULTILINE)
    if enforced is None or "limits" not in enforced[1]:
        return None
    user = site.slurm_output("id", "-un").strip()
    account = (
        _named(_ACCOUNT, site.description.access)
        or _rows(site, "user", user, "format=defaultaccount").partition("|")[0].strip()
    )
    listed = _rows(site, "assoc", f"user={user}", "format=account,qos,defaultqos,maxwall")
    rows = [line.split("|") for line in listed.splitlines()]
    mine = next((row for row in rows if len(row) == 4 and row[0] == account), None)
    if mine is None:
        return None
    _, allowed, default, of_account = mine
    only = allowed if "," not in allowed else ""
    qos = _named(_QOS, site.description.access) or default or only
    of_qos = _rows(site, "qos", qos, "format=maxwall").strip() if qos else ""
    return seconds_of(of_qos) or seconds_of(of_account)


def _rows(site: Site, what: str, *words: str) -> str:
    return site.slurm_output("sacctmgr", "-nP", "show", what, *words)


def _named(form: re.Pattern[str], access: Sequence[str]) -> str | None:
    """The value of the option of this form that counts: the last one."""
    found = [match[1] or match[2] for word in access if (match := form.fullmatch(word))]
    return found[-1] if found else None
