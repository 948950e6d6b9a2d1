# SPDX-License-Identifier: Apache-2.0
"""Collective operations in the report: tables beside the paper's, pictures."""

from reports.checks.collectives.pictures import against_counts, against_length
from reports.checks.collectives.tables import choices, expressions, latencies

__all__ = ["against_counts", "against_length", "choices", "expressions", "latencies"]
