# SPDX-License-Identifier: Apache-2.0
"""A site and its nodes: topology, facts, limits, pairs."""
