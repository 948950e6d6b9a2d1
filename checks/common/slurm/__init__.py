# SPDX-License-Identifier: Apache-2.0
"""The dialogue with Slurm, for launches, allocations and probes."""
