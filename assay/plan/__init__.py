# SPDX-License-Identifier: Apache-2.0
"""From a campaign and a site to every case, its layout, its cost and its place in each block."""
