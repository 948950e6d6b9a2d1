# SPDX-License-Identifier: Apache-2.0
"""Vettings of nodes: what a figure or a fact says of a node, by its peers and by itself."""
