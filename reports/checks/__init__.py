# SPDX-License-Identifier: Apache-2.0
"""What a report shows of each check beside the generic tables."""
