# SPDX-License-Identifier: Apache-2.0
"""The one answer that page, terminal and JSON print first."""
