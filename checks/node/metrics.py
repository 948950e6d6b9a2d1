# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check node."""

from records.metric import MetricDefinition

METRICS = (
    MetricDefinition(
        "stream_copy",
        "bytes/s",
        "higher",
        "STREAM c = a: bytes of 2 arrays over the time; median of the repetitions",
        title="STREAM copy",
    ),
    MetricDefinition(
        "stream_scale",
        "bytes/s",
        "higher",
        "STREAM b = 3 c: bytes of 2 arrays over the time; median of the repetitions",
        title="STREAM scale",
    ),
    MetricDefinition(
        "stream_add",
        "bytes/s",
        "higher",
        "STREAM c = a + b: bytes of 3 arrays over the time; median of the repetitions",
        title="STREAM add",
    ),
    MetricDefinition(
        "stream_triad",
        "bytes/s",
        "higher",
        "STREAM a = b + 3 c: bytes of 3 arrays over the time; median of the repetitions",
        title="STREAM triad",
    ),
    MetricDefinition(
        "dgemm_rate",
        "flop/s",
        "higher",
        "product of matrices of order n: 2n³ over the time",
        title="DGEMM rate",
    ),
    MetricDefinition(
        "node_hpl_rate",
        "flop/s",
        "higher",
        "a dense system a rank, LAPACK on the tuned BLAS: 2N³/3 + 3N²/2 over the time",
        title="one-node HPL rate",
    ),
    MetricDefinition(
        "linpack_100_rate",
        "flop/s",
        "higher",
        "LINPACK of order 100 as compiled, unblocked: 2n³/3 + 2n² over the time",
        title="LINPACK 100",
    ),
    MetricDefinition(
        "linpack_1000_rate",
        "flop/s",
        "higher",
        "LINPACK of order 1000, best effort with BLAS and LAPACK: 2n³/3 + 2n² over the time",
        title="LINPACK 1000",
    ),
    MetricDefinition(
        "core_clock",
        "1/s",
        "higher",
        "clock of a core at work: additions of 64-bit integers a second, each on the last"
        " one's result, one a cycle on every processor of today",
    ),
    MetricDefinition(
        "operations_per_cycle",
        "1",
        "higher",
        "floating-point operations a core finishes in a clock cycle (ORNL/TM-13006, 1996)",
    ),
    MetricDefinition(
        "operation_time",
        "s",
        "lower",
        "one operation on the result of the one before (ORNL/TM-10881, 1988); *+*+* is the"
        " mean over the five of a sum of three products",
    ),
    MetricDefinition("sieve_time", "s", "lower", "100 sieves of 1 to 8190"),
    MetricDefinition(
        "floatmath_time", "s", "lower", "256 000 repetitions of +, −, × and ÷ in double precision"
    ),
    MetricDefinition("dhrystone_time", "s", "lower", "50 000 Dhrystones", title="Dhrystone time"),
    MetricDefinition(
        "whetstone_time", "s", "lower", "one million Whetstone instructions", title="Whetstone time"
    ),
    MetricDefinition(
        "allocatable_memory",
        "bytes",
        "higher",
        "memory that a node's ranks could allocate and touch, up to the bound that was set",
    ),
)
