# SPDX-License-Identifier: Apache-2.0
"""A run summarised, and its environments against each other."""
