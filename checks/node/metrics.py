# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check node."""

from checks.common.metrics import rate_metric, time_metric
from records.metric import MetricDefinition

METRICS = (
    *(
        rate_metric(
            f"stream_{name}",
            f"STREAM {formula}: bytes of {arrays} arrays over the time; median of the repetitions",
            f"STREAM {name}",
            limit="memory",
        )
        for name, formula, arrays in (
            ("copy", "c = a", 2),
            ("scale", "b = 3 c", 2),
            ("add", "c = a + b", 3),
            ("triad", "a = b + 3 c", 3),
        )
    ),
    rate_metric(
        "dgemm_rate",
        "product of matrices of order n: 2n³ over the time",
        "DGEMM rate",
        "flop/s",
        limit="flop",
    ),
    rate_metric(
        "node_hpl_rate",
        "a dense system a rank, LAPACK on the tuned BLAS: 2N³/3 + 3N²/2 over the time",
        "one-node HPL rate",
        "flop/s",
        limit="flop",
    ),
    rate_metric(
        "linpack_100_rate",
        "LINPACK of order 100 as compiled, unblocked: 2n³/3 + 2n² over the time",
        "LINPACK 100",
        "flop/s",
        limit="flop",
    ),
    rate_metric(
        "linpack_1000_rate",
        "LINPACK of order 1000, best effort with BLAS and LAPACK: 2n³/3 + 2n² over the time",
        "LINPACK 1000",
        "flop/s",
        limit="flop",
    ),
    rate_metric(
        "core_clock",
        "clock of a core at work: additions of 64-bit integers a second, each on the last"
        " one's result, one a cycle on every processor of today",
        unit="1/s",
    ),
    rate_metric(
        "operations_per_cycle",
        "floating-point operations a core finishes in a clock cycle (ORNL/TM-13006, 1996)",
        unit="1",
    ),
    time_metric(
        "operation_time",
        "one operation on the result of the one before (ORNL/TM-10881, 1988); *+*+* is the"
        " mean over the five of a sum of three products",
        kind="chain",
    ),
    time_metric("sieve_time", "100 sieves of 1 to 8190"),
    time_metric("floatmath_time", "256 000 repetitions of +, −, × and ÷ in double precision"),
    time_metric("dhrystone_time", "50 000 Dhrystones", "Dhrystone time"),
    time_metric("whetstone_time", "one million Whetstone instructions", "Whetstone time"),
    MetricDefinition(
        "allocatable_memory",
        "bytes",
        "higher",
        "memory that a node's ranks could allocate and touch, up to the bound that was set, or all"
        " that kernel, control groups and Slurm left, less a reserve",
    ),
)
