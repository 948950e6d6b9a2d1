# SPDX-License-Identifier: Apache-2.0
"""The history of a campaign on a site: nights, their values, what changed, what was accepted."""
