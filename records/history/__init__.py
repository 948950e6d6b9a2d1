# SPDX-License-Identifier: Apache-2.0
"""The history of a campaign on a site: nights, their values, what changed, what was accepted."""

from pathlib import Path

#: Where the history is kept by default, below the folder in which `assay` is called.
DEFAULT_HISTORY = Path("results/history.sqlite")
#: The least change that a night is to find where the site does not say another, and the greatest
#: that it may say; fractions.
USUAL_FINDS, MOST_FINDS = 0.10, 0.9
