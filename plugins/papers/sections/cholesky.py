# SPDX-License-Identifier: Apache-2.0
"""Cholesky factorisation by columns: rates against the order and against the number of ranks."""

from reports.checks.common.curves import over
from reports.show.section import Section

_CAPTION = (
    "Operations of a factorisation over its time. Each column is one message to all ranks, so small"
    " matrices show what a message costs, large ones the processors (ORNL/TM-10881, figure 8)."
)

SECTION = Section(
    pictures=(
        over(
            "cholesky",
            ["factor_rate"],
            "n",
            "order n",
            anchor="picture-cholesky-n",
            title="Cholesky by columns, rate against the order",
            caption=_CAPTION,
        ),
        over(
            "cholesky",
            ["factor_rate"],
            "ranks",
            "ranks",
            anchor="picture-cholesky-ranks",
            title="Cholesky by columns, rate against ranks",
            caption=_CAPTION,
            least=2,
        ),
    )
)
