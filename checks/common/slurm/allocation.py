# SPDX-License-Identifier: Apache-2.0
"""An allocation that Slurm has granted once for many launches: its nodes, its end, its steps.

Each launch runs in a step of its own on some of the nodes. The step's first process runs on the
first of them, as the script of a job of sbatch would, and may use all its cores.
"""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

#: Environment variables with the run's id, and with the path of the allocation as JSON.
RUN_ID, ALLOCATION = "ASSAY_RUN_ID", "ASSAY_ALLOCATION"
#: Seconds that Slurm needs at the end of an allocation; no launch is started within them.
ENDING_S = 30.0
#: Sets of nodes of which the one that shares the fewest cores is taken.
_DRAWS = 20


class Allocation(BaseModel):
    """Nodes granted to one job of Slurm, until `ends_at` by time.monotonic() of the host that asked
    for it."""

    model_config = ConfigDict(strict=True, frozen=True)

    job_id: Annotated[str, Field(pattern=r"^[0-9]+$")]
    nodes: list[str] = Field(min_length=1)
    ends_at: float
    #: From it and a launch's case, block and attempt its nodes are drawn.
    seed: int = 0
    #: Launches that may run at a time.
    at_once: int = Field(1, ge=1)
    #: The cores of nodes that share one machine, by node.
    cores: dict[str, list[int]] = {}

    def step(
        self,
        script: str,
        nodes: Sequence[str],
        ranks: int,
        ranks_per_node: int,
        files: tuple[str, str] = ("-", "-"),
    ) -> list[str]:
        """Words that precede a command to run it in a step; `script` is launch/allocated.sh.

        `files` get the command's stdout and stderr; without them they are the step's own.
        """
        step = ["srun", f"--jobid={self.job_id}", "--overlap", "--mpi=none", "--cpu-bind=none"]
        step += ["--nodes=1", "--ntasks=1", f"--nodelist={nodes[0]}"]
        return [*step, script, ",".join(nodes), str(ranks), str(ranks_per_node), *files]

    def drawn(self, count: int, free: Collection[str], launch: str) -> list[str] | None:
        """`count` of the `free` nodes, at random by the seed and what names the launch, in the
        order of the allocation, as Slurm gives nodes to jobs. None: the free ones do not suffice.

        Nodes that share cores are drawn together only where it cannot be helped.
        """
        if count > len(free):
            return None
        dice = random.Random(f"{self.seed}.{launch}")  # noqa: S311  not for secrets
        draws = [dice.sample(sorted(free), count) for _ in range(_DRAWS if self.cores else 1)]
        cores = [[core for node in draw for core in self.cores.get(node, ())] for draw in draws]
        #: How often a core is that of a further node, by draw.
        shared = [len(each) - len(set(each)) for each in cores]
        chosen = {*draws[shared.index(min(shared))]}
        return [node for node in self.nodes if node in chosen]


def told_allocation() -> Allocation | None:
    """The allocation in the file that the environment names; None without one."""
    file = os.environ.get(ALLOCATION)
    return None if file is None else Allocation.model_validate_json(Path(file).read_bytes())
