# SPDX-License-Identifier: Apache-2.0
"""HOW one point is measured: a folder for each check, and what they share."""
