# SPDX-License-Identifier: Apache-2.0
"""The throughput of a mix of jobs that were handed in to Slurm at once."""
