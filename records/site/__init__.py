# SPDX-License-Identifier: Apache-2.0
"""What a site and its nodes are: topology, facts, limits, pairs."""
