# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of reports, as values that every renderer shows."""
