# SPDX-License-Identifier: Apache-2.0
"""Applications on node counts that a run did not measure."""
