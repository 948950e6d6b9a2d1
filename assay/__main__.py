# SPDX-License-Identifier: Apache-2.0
"""`python -m assay`: the command line."""

import sys

from assay.entry import main

sys.exit(main())
