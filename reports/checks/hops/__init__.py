# SPDX-License-Identifier: Apache-2.0
"""Messages against hop counts, where a site declares how its nodes are joined."""

from reports.checks.hops.pictures import hops_picture
from reports.checks.hops.tables import hops_1988, hops_table

__all__ = ["hops_1988", "hops_picture", "hops_table"]
