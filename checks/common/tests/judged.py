# SPDX-License-Identifier: Apache-2.0
"""A launch judged as in a run, for tests: what it printed is given, ReFrame and Slurm are not."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from checks.common.base import MpiCheck
from checks.common.evidence.clocks import Moment
from checks.common.evidence.printed import Printed, read_printed
from checks.common.registry import CHECKS
from checks.common.session.outcome import Outcome
from checks.common.slurm.commands import HERE
from checks.common.sources import CHECKS as FOLDER
from records.site.limits import Nominal

OURS = "0123456789abcdef"


def with_token(text: str) -> str:
    """`text` of a stored launch, its own lines with the token OURS."""
    return re.sub(r'(?m)^({"assay":"\w+"),', rf'\1,"token":"{OURS}",', text)


class Launch:
    """A launch of a check's stored sample that Slurm calls complete, judged by the real code."""

    #: What Slurm says of a node that died.
    dead: str | None = None

    def __init__(self, check: str, variant: str, stage: Path | None = None) -> None:
        samples = FOLDER / check / "samples"
        self.definition = CHECKS[check]
        asked = (samples / f"{variant}.params.json").read_text()
        self.params = self.definition.parameters.model_validate_json(asked)
        self.text = with_token((samples / f"{variant}.out").read_text())
        self.ranks = self.definition.ranks(self.params)
        self.ranks_per_node = json.loads(asked).get("ranks_per_node", 1)
        self.cpus_per_task = 0
        self.launch_limit_s = 60.0
        self.token, self.foreign, self.profiled = OURS, None, False
        self.prints_metrics = True
        self.stagedir = stage or Path("/nonexistent")
        self.stderr = SimpleNamespace(evaluate=lambda: "rfm_job.err")
        begin, end = self.stamp("session_begin"), self.stamp("session_end")
        daemons = json.loads(self.text.split("\n", 1)[0])["daemons"]
        self.job = SimpleNamespace(
            loss=None,
            exitcode=0,
            state="COMPLETED",
            slurm={},
            nodelist=[f"n{number}" for number in range(1, self.ranks // self.ranks_per_node + 1)],
            handed_in=Moment(begin - 1, 0),
            ended=Moment(end + 1, end - begin + 2),
            launcher=SimpleNamespace(daemons=daemons),
        )
        self.current_environ = SimpleNamespace(extras={"device": "", "library": "", "seen": {}})
        self.current_partition = SimpleNamespace(
            extras={
                "wire_is_counted": True,
                "topology": None,
                "shared_cores": {},
                "nominal": Nominal(link_bytes_per_s=1e12),
            }
        )

    def stamp(self, name: str) -> float:
        """When the sample's session stamped a phase."""
        found = re.search(rf'"name":"{name}","at":([0-9.]+)', self.text)
        return float(found[1]) if found else 0.0

    def outcome(self, text: str) -> Outcome:
        """What becomes of the launch that printed `text`."""
        return self._judged(Printed(text))

    def outcome_of(self, stdout: Path, limit_bytes: int) -> Outcome:
        """What becomes of the launch whose stdout is this file."""
        return self._judged(read_printed(stdout, limit_bytes))

    def _judged(self, printed: Printed) -> Outcome:
        with patch.object(HERE, "dead_nodes", lambda nodes: self.dead):
            outcome: Outcome = self.judge(printed)
        return outcome

    def read(self, output, text):
        """The values asked for, each once."""
        return self.definition.read(self.params, output)

    def __getattr__(self, name: str) -> Any:
        """The real code."""
        found = inspect.getattr_static(MpiCheck, name)
        return found.__get__(self, type(self)) if hasattr(found, "__get__") else found
