# SPDX-License-Identifier: Apache-2.0
"""Collective operations in the report: tables beside the paper's, pictures."""

from reports.collectives.pictures import against_counts, against_length
from reports.collectives.tables import choices, expressions, latencies

__all__ = ["against_counts", "against_length", "choices", "expressions", "latencies"]
