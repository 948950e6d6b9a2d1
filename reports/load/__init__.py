# SPDX-License-Identifier: Apache-2.0
"""From a run directory to columns in memory."""
