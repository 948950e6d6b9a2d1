# SPDX-License-Identifier: Apache-2.0
"""The booker of a stability phase: looks at a cluster, by a timer or in a loop."""
