# SPDX-License-Identifier: Apache-2.0
"""PVM's protocols beside MPI's, and beside the machines of the 1995 study."""

from reports.checks.pvm_echo.tables import order_table, protocols_table, steps_table, study_table
from reports.show.section import Section

SECTION = Section(tables=(protocols_table, order_table, steps_table, study_table))
