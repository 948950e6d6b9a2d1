# SPDX-License-Identifier: Apache-2.0
"""HPL: solve a random dense system of order N on a P×Q process grid; one test a launch.

The residual must pass before the rate is read. Rate = (2N³/3 + 3N²/2) / time.
"""

from __future__ import annotations

import math
from pathlib import Path

from reframe.core.builtins import fixture, run_before

from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.builds import Hpl
from checks.common.knobs import knobs_of
from checks.hpl import HPL_CODES, HplParameters
from checks.hpl import output as hpl_text


def hpl_dat(settings: HplParameters) -> str:
    """The HPL.dat (format of HPL 2) that asks for exactly one test with these settings."""
    code = {name: words.index(getattr(settings, name)) for name, words in HPL_CODES.items()}
    values: list[tuple[object, str]] = [
        ("HPL.out", "output file name (if any)"),
        (6, "device out (6=stdout,7=stderr,file)"),
        (1, "# of problems sizes (N)"),
        (settings.n, "Ns"),
        (1, "# of NBs"),
        (settings.nb, "NBs"),
        (code["pmap"], "PMAP process mapping (0=Row-,1=Column-major)"),
        (1, "# of process grids (P x Q)"),
        (settings.p, "Ps"),
        (settings.q, "Qs"),
        (settings.threshold, "threshold"),
        (1, "# of panel fact"),
        (code["pfact"], "PFACTs (0=left, 1=Crout, 2=Right)"),
        (1, "# of recursive stopping criterium"),
        (settings.nbmin, "NBMINs (>= 1)"),
        (1, "# of panels in recursion"),
        (settings.ndiv, "NDIVs"),
        (1, "# of recursive panel fact."),
        (code["rfact"], "RFACTs (0=left, 1=Crout, 2=Right)"),
        (1, "# of broadcast"),
        (code["bcast"], "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)"),
        (1, "# of lookahead depth"),
        (settings.depth, "DEPTHs (>=0)"),
        (code["swap"], "SWAP (0=bin-exch,1=long,2=mix)"),
        (settings.swap_threshold, "swapping threshold"),
        (code["l1"], "L1 in (0=transposed,1=no-transposed) form"),
        (code["u"], "U  in (0=transposed,1=no-transposed) form"),
        (int(settings.equilibration), "Equilibration (0=no,1=yes)"),
        (settings.alignment, "memory alignment in double (> 0)"),
    ]
    lines = [f"{value!s:<14}{meaning}" for value, meaning in values]
    return "\n".join(["HPLinpack benchmark input file", "written by assay", *lines, ""])


class HplCheck(MpiCheck, knobs_of(HplParameters)):
    """One HPL test: order, block size, grid and every other line of HPL.dat are knobs."""

    hpl = fixture(Hpl, scope="environment")

    @run_before("run")
    def one_thread(self) -> None:
        """One BLAS thread a rank: ranks are the only parallelism that is measured."""
        self.env_vars.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

    def executable_path(self, built: Path) -> Path:  # noqa: ARG002
        """HPL has its own build."""
        return Path(self.hpl.stagedir) / "out" / "xhpl"

    def settings(self) -> HplParameters:
        """The knobs as one validated value."""
        return HplParameters(**{name: getattr(self, name) for name in self.knob_names})

    def write_inputs(self, stage: Path) -> None:
        """Write HPL.dat."""
        (stage / "HPL.dat").write_text(hpl_dat(self.settings()))

    def read(self, output: json_lines.Output, text: str) -> Reading:
        """Rate and time, from the exact time when our main printed it, else from HPL's own line."""
        try:
            printed = hpl_text.parse(text)
        except hpl_text.UnfinishedError as error:
            raise json_lines.OutputError(str(error)) from error
        asked = (self.n, self.nb, self.p, self.q)
        if (printed.n, printed.nb, printed.p, printed.q) != asked:
            return Reading(wrong=f"HPL ran {printed}; asked was (N, NB, P, Q) = {asked}")
        time_s = self._exact_time(output, printed)
        rate = json_lines.registered_metric("rate", hpl_text.operations(self.n) / time_s)
        return Reading(metrics=[rate, json_lines.registered_metric("time", time_s)])

    @staticmethod
    def _exact_time(output: json_lines.Output, printed: hpl_text.HplResult) -> float:
        """HPL prints hundredths of a second; our main reports all digits, which must agree."""
        result = output.notes.get("hpl_result")
        if not isinstance(result, dict):
            return json_lines.check_number(printed.time_s, "s", "HPL's time")
        exact = json_lines.check_number(result.get("time_s"), "s", "HPL's exact time")
        if not math.isclose(exact, printed.time_s, abs_tol=0.0051, rel_tol=1e-3):
            raise json_lines.OutputError(
                f"HPL printed {printed.time_s} s and reported {exact} s for one test"
            )
        return exact
