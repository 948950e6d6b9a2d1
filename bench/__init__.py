# SPDX-License-Identifier: Apache-2.0
"""What `make bench` measures."""
