# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign side by side."""
