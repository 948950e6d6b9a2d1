# SPDX-License-Identifier: Apache-2.0
"""A launch judged as in a run, for tests: what it printed is given, ReFrame and Slurm are not."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from checks.common.base import MpiCheck, OwnProgram, Setting
from checks.common.json_lines import Printed
from checks.common.judging import EndedJob, judge
from checks.common.registry import CHECKS
from checks.common.session.outcome import Moment, Outcome
from records.site.limits import Nominal

OURS = "0123456789abcdef"


def with_token(text: str) -> str:
    """`text` of a stored launch, its own lines with the token OURS."""
    return re.sub(r'(?m)^({"assay":"\w+"),', rf'\1,"token":"{OURS}",', text)


class Launch:
    """A launch of a check's stored sample that Slurm calls complete, judged by the real code.

    `changes` are of its setting or, where the setting has no such field, of its job.
    """

    def __init__(self, check: str, variant: str, **changes: Any) -> None:
        self.definition = CHECKS[check]
        samples = self.definition.folder / "samples"
        asked = (samples / f"{variant}.params.json").read_text()
        self.params = self.definition.parameters.model_validate_json(asked)
        self.text = with_token((samples / f"{variant}.out").read_text())
        ranks = self.definition.ranks(self.params)
        on_node = json.loads(asked).get("ranks_per_node", 1)
        begin, end = self.stamp("session_begin"), self.stamp("session_end")
        setting = Setting(
            ranks=ranks, ranks_per_node=on_node, nominal=Nominal(link_bytes_per_s=1e12)
        )
        job = EndedJob(
            token=OURS,
            nodes=[f"n{number}" for number in range(1, ranks // on_node + 1)],
            handed_in=Moment(begin - 1, 0),
            ended=Moment(end + 1, end - begin + 2),
            daemons=json.loads(self.text.split("\n", 1)[0])["daemons"],
            limit_s=60.0,
        )
        known = Setting.__dataclass_fields__
        self.setting = replace(setting, **{k: v for k, v in changes.items() if k in known})
        self.job = replace(job, **{k: v for k, v in changes.items() if k not in known})

    def stamp(self, name: str) -> float:
        """When the sample's session stamped a phase."""
        found = re.search(rf'"name":"{name}","at":([0-9.]+)', self.text)
        return float(found[1]) if found else 0.0

    def outcome(self, text: str | Printed) -> Outcome:
        """The outcome of the launch that printed `text`."""
        printed = Printed(text) if isinstance(text, str) else text
        return judge(printed, self.job, self.leaf(self.definition, self.params, self.setting))

    #: Class of the check, as in its run.py.
    leaf: type[MpiCheck] = OwnProgram
