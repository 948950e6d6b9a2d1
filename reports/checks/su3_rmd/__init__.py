# SPDX-License-Identifier: Apache-2.0
"""The lattice program: digits against the original's, scaling."""

from reports.checks.su3_rmd.pictures import scaling_picture, time_picture
from reports.checks.su3_rmd.tables import digits_table, strong_scaling, weak_scaling
from reports.show.section import Section

SECTION = Section(
    pictures=(time_picture, scaling_picture),
    tables=(digits_table, strong_scaling, weak_scaling),
)
