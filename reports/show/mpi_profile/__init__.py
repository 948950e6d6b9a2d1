# SPDX-License-Identifier: Apache-2.0
"""The MPI profile of a run: tables and pictures of each check that was profiled."""

from reports.show.mpi_profile.pictures import profile_pictures
from reports.show.mpi_profile.tables import profile_tables

__all__ = ["profile_pictures", "profile_tables"]
