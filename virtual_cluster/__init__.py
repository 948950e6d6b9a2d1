# SPDX-License-Identifier: Apache-2.0
"""A multi-node Slurm cluster made of one Linux machine's namespaces."""
