# SPDX-License-Identifier: Apache-2.0
"""Parts that the sections of several checks share."""
