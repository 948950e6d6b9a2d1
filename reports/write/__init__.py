# SPDX-License-Identifier: Apache-2.0
"""The formats of a report."""
