# SPDX-License-Identifier: Apache-2.0
"""The lattice program's own tables and pictures."""

from reports.checks.su3_rmd.pictures import share_picture, time_picture
from reports.checks.su3_rmd.tables import overview, strong_scaling, study_2003, weak_scaling

__all__ = [
    "overview",
    "share_picture",
    "strong_scaling",
    "study_2003",
    "time_picture",
    "weak_scaling",
]
