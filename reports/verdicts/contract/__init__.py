# SPDX-License-Identifier: Apache-2.0
"""A contract as a result: what its stages came to, who waived and signed what."""
