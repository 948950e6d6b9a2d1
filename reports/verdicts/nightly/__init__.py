# SPDX-License-Identifier: Apache-2.0
"""Nightly regression: is tonight worse than it should be, and has something changed to stay."""
