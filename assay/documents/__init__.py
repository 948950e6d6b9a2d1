# SPDX-License-Identifier: Apache-2.0
"""What is written to disk: the report of a run, and the folder of an acceptance."""
