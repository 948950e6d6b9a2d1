# SPDX-License-Identifier: Apache-2.0
"""Nodes: rates, times of operations, balance; and the echo's witness."""

from reports.checks.node.netpipe_comparison import witness_table
from reports.checks.node.tables import balance_table, operations_table, rates_table, synthetic_table

__all__ = [
    "balance_table",
    "operations_table",
    "rates_table",
    "synthetic_table",
    "witness_table",
]
