# SPDX-License-Identifier: Apache-2.0
"""A run as a result: which environment is best, by how much, and what it rests on."""
