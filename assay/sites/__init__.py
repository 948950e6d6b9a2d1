# SPDX-License-Identifier: Apache-2.0
"""WHERE: sites as `site-config/` describes them, and how commands are started there."""
