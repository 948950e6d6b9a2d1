# SPDX-License-Identifier: Apache-2.0
"""Faults planted on a virtual cluster, each to be found."""
