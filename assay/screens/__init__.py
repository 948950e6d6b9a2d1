# SPDX-License-Identifier: Apache-2.0
"""Screens that commands show people on a terminal."""
