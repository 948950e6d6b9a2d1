# SPDX-License-Identifier: Apache-2.0
"""Documents on disk: the report of a run, and the folder of an acceptance."""
