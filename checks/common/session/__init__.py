# SPDX-License-Identifier: Apache-2.0
"""One ReFrame session: builds, launches, and what it says to the harness of them."""
