# SPDX-License-Identifier: Apache-2.0
"""What the sections of several checks share."""
