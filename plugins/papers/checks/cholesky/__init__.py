# SPDX-License-Identifier: Apache-2.0
"""Cholesky factorisation by columns, the application of T. H. Dunigan (ORNL/TM-10881, 1988)."""

from collections.abc import Iterable

from checks.common.answer import Reading
from checks.common.definition import OrdinaryMachine
from checks.common.json_lines import Output
from checks.common.messages import ManyRanksDefinition
from checks.common.metrics import rate_metric, time_metric
from checks.common.parameters import ProfiledParameters, Ranks, RanksPerNode, Seed, quantity
from records.metric import MetricDefinition

#: A right factor's scaled residual is below it, as HPL asks for.
GREATEST_RESIDUAL = 16.0


class CholeskyParameters(ProfiledParameters):
    """Launch: a matrix, and the ranks that share its columns."""

    ranks: Ranks = quantity("Ranks that share the columns.", "ranks")
    ranks_per_node: RanksPerNode = "fill"
    n: int = quantity("Order of the matrix.", "rows", 300, ge=2, le=100_000)
    repetitions: int = quantity(
        "Factorisations after one that is left out.", "factorisations", 5, ge=1, le=10_000
    )
    seed: Seed = quantity("Seed of the matrix.", "none", 1)

    @property
    def operations(self) -> float:
        """Floating-point operations of a factorisation."""
        return self.n**3 / 3 + self.n**2 / 2 + self.n / 6


class CholeskyDefinition(ManyRanksDefinition[CholeskyParameters]):
    """Layout and cost of the factorisation."""

    name = "cholesky"
    title = "Cholesky by columns"
    deciding = "factor_time"
    shown = "factor_rate"
    parameters = CholeskyParameters
    example = {"ranks": 2, "n": 100}
    metrics = (
        time_metric(
            "factor_time",
            "a factorisation, the longest over the ranks; the launch's value is the median",
        ),
        rate_metric(
            "factor_rate",
            "n³/3 + n²/2 + n/6 operations over the median time",
            unit="flop/s",
            limit="flop",
        ),
        MetricDefinition(
            "residual",
            "1",
            "lower",
            "of the last factorisation, for a random vector x: max|Ax − LLᵀx| over"
            " ε·n·max|Ax|·max|x|",
            may_be_zero=True,
            measured=False,
        ),
    )
    samples = {"factor_time": "repetitions"}
    timed = ("factor_time", 1.0)
    relations = {"factor_rate": lambda here: here.params.operations / here("factor_time")}

    def check_values(self, params: CholeskyParameters, output: Output) -> Reading:
        """The factor is one of the matrix."""
        residual = next(m.value for m in output.metrics if m.name == "residual")
        if not residual < GREATEST_RESIDUAL:
            return Reading(
                wrong=f"the residual is {residual:.6g}, allowed is below {GREATEST_RESIDUAL:g}"
            )
        return super().check_values(params, output)

    def measuring_s(self, params: CholeskyParameters, machine: OrdinaryMachine) -> Iterable[float]:
        """All operations; messages take no time."""
        yield params.repetitions * machine.compute_s(params.operations)

    def bytes_per_rank(self, params: CholeskyParameters) -> int:
        """The columns of the node's ranks, and the allowance of each."""
        return 8 * -(-params.n // params.ranks) * params.n


CHECK = CholeskyDefinition()
