# SPDX-License-Identifier: Apache-2.0
"""What the records mean: one folder a verdict, side by side, each of them makes a `Result`."""
