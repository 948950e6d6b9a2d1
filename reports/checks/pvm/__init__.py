# SPDX-License-Identifier: Apache-2.0
"""PVM's protocols beside MPI's, and beside the machines of the 1995 study."""

from reports.checks.pvm.tables import order_table, protocols_table, steps_table, study_table

__all__ = ["order_table", "protocols_table", "steps_table", "study_table"]
