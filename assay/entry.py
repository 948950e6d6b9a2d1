# SPDX-License-Identifier: Apache-2.0
"""Entry point of `assay`, quick to load itself."""

import sys

from assay.loading import ended_by_ctrl_c


def main() -> int:
    """Run the command line; gives the exit status."""
    with ended_by_ctrl_c():
        from assay.cli import main as run  # slow: guarded while it loads
    return run()


if __name__ == "__main__":
    sys.exit(main())
