# SPDX-License-Identifier: Apache-2.0
"""WHERE: descriptions of sites, and how programs are started there."""
