# SPDX-License-Identifier: Apache-2.0
"""Runs a plan: one launch after the other through ReFrame and Slurm, each ending as a record."""
