# SPDX-License-Identifier: Apache-2.0
"""Schedulers of sites behind one interface: Slurm, this machine alone, and those of plugins."""
