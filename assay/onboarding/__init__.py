# SPDX-License-Identifier: Apache-2.0
"""From an account on a Slurm cluster to a proven site.yaml."""
