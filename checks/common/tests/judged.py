# SPDX-License-Identifier: Apache-2.0
"""A launch judged as in a run, for tests: what it printed is given, ReFrame and Slurm are not."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from checks.common.base import MpiCheck, OwnProgram, Setting
from checks.common.definition import CheckDefinition
from checks.common.evidence import Claim, Evidence, Link, RankFacts, short_host
from checks.common.json_lines import Printed
from checks.common.judging import EndedJob, judge
from checks.common.registry import CHECKS, leaf_of
from checks.common.session.outcome import Moment, Outcome
from records.site.limits import Nominal

OURS = "0123456789abcdef"


def evidence_of(*hosts: str, library: str = "MPICH Version:\t4.0.2") -> Evidence:
    """The evidence of a launch whose ranks ran on `hosts`, each with a core of its own, the wire
    used."""
    ranks = [RankFacts(rank, host, [rank], "one kernel") for rank, host in enumerate(hosts)]
    ring = list(dict.fromkeys(hosts))
    links = [Link(a, b, 262144, 263584) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)]
    return Evidence(library, "/usr/lib/libmpich.so.12", ranks, links)


@dataclass
class Sample:
    """Good launch that Slurm calls complete: what was asked, and what was printed (`text`: stdout,
    then stderr), without tokens: they must not be what refuses a changed line.

    `changes` are of its setting or, where the setting has no such field, of its job.
    """

    name: str
    definition: CheckDefinition[Any]
    params: Any
    text: str
    token: Any = None
    changes: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def leaf(self) -> type[MpiCheck]:
        """Class of the check, as in its run.py."""
        return leaf_of(self.definition)

    @property
    def launch(self) -> MpiCheck:
        """The launch, by its evidence and the changes."""
        evidence = self._first("evidence")
        hosts = [short_host(rank["host"]) for rank in evidence["ranks"]]
        setting = Setting(
            ranks=self.definition.ranks(self.params),
            ranks_per_node=hosts.count(hosts[0]),
            library=re.escape(re.split("[,;]", evidence["library"], maxsplit=1)[0]),
            features=["pvm"] if evidence["library"].startswith("PVM") else [],
            nominal=Nominal(link_bytes_per_s=1e12),
            builds=dict.fromkeys(self.definition.builds, Path("/none")),
        )
        known = {k: v for k, v in self.changes.items() if hasattr(setting, k)}
        return self.leaf(self.definition, self.params, replace(setting, **known))

    @cached_property
    def claim(self) -> Claim:
        """Claim of a harness that got this output."""
        ranks = self._first("evidence")["ranks"]
        return self.launch.claim([*dict.fromkeys(short_host(rank["host"]) for rank in ranks)])

    @property
    def own(self) -> bool:
        """True if the program prints metrics itself."""
        return isinstance(self.launch, OwnProgram) and self.launch.foreign is None

    @cached_property
    def daemons(self) -> str:
        """The library's daemons, whose boot and halt the session stamps; or none."""
        if '"name":"boot_begin"' not in self.text:
            return "none"
        return str(self._first("allocation").get("daemons", "lam"))

    def outcome(self, text: str | Printed) -> Outcome:
        """The outcome of the launch had it printed `text`."""
        begin, end = self._stamp("session_begin"), self._stamp("session_end")
        job = EndedJob(
            token=self.token,
            nodes=self.claim.nodes,
            handed_in=Moment(begin - 1, 0),
            ended=Moment(end + 1, end - begin + 2),
            daemons=self.daemons,
            limit_s=60.0,
        )
        known = {k: v for k, v in self.changes.items() if hasattr(job, k)}
        printed = Printed(text) if isinstance(text, str) else text
        return judge(printed, replace(job, **known), self.launch)

    def refusal(self, text: str) -> str | None:
        """Why `text` is refused, or None."""
        return self.outcome(text).reason

    def changed(
        self, kind: str, change: Callable[[dict[str, Any]], object], name: str | None = None
    ) -> str:
        """The text with the lines of a kind (a stamp's name) changed."""
        lines = []
        for line in self.text.split("\n"):
            entry = json.loads(line) if line.startswith(f'{{"assay":"{kind}"') else {}
            if entry and name in (None, entry.get("name")):
                change(entry)
            lines.append(json.dumps(entry, separators=(",", ":")) if entry else line)
        return "\n".join(lines)

    def _first(self, kind: str) -> dict[str, Any]:
        line = re.search(rf'(?m)^{{"assay":"{kind}".*', self.text)
        assert line is not None
        entry: dict[str, Any] = json.loads(line[0])
        return entry

    def _stamp(self, name: str) -> float:
        found = re.search(rf'"name":"{name}","at":([0-9.]+)', self.text)
        return float(found[1]) if found else 0.0


class Launch(Sample):
    """A launch of a check's stored sample, with tokens."""

    def __init__(self, check: str, variant: str, **changes: Any) -> None:
        definition = CHECKS[check]
        samples = definition.folder / "samples"
        asked = (samples / f"{variant}.params.json").read_text()
        params = definition.parameters.model_validate_json(asked)
        text = (samples / f"{variant}.out").read_text()
        text = re.sub(r'(?m)^({"assay":"\w+"),', rf'\1,"token":"{OURS}",', text)
        super().__init__(f"{check} {variant}", definition, params, text, OURS, changes)
