# SPDX-License-Identifier: Apache-2.0
"""Machines, campaigns, histories and sites with known truth."""
