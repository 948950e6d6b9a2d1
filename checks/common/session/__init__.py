# SPDX-License-Identifier: Apache-2.0
"""ReFrame session: builds, launches, and what it says to the harness of them."""
