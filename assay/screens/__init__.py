# SPDX-License-Identifier: Apache-2.0
"""What commands show people on a terminal."""
