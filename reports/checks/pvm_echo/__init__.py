# SPDX-License-Identifier: Apache-2.0
"""PVM's protocols and MPI's."""

from reports.checks.pvm_echo.tables import order_table, protocols_table, steps_table
from reports.show.section import Section

SECTION = Section(tables=(protocols_table, order_table, steps_table))
