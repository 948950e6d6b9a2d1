# SPDX-License-Identifier: Apache-2.0
"""The night's run: suspicious cases run again, and its schedule."""
