# SPDX-License-Identifier: Apache-2.0
"""A contract: its stages as people write them, and the log of what was done under it."""
