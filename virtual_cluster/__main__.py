# SPDX-License-Identifier: Apache-2.0
"""`python -m virtual_cluster …` is `assay cluster …`."""

import sys

from virtual_cluster.command import main

sys.exit(main(sys.argv[1:]))
