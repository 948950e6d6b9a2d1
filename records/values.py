# SPDX-License-Identifier: Apache-2.0
"""Types that bound what is read: numbers that fit a machine, parameters of few levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Scalar = bool | Integer | float | str | None

if TYPE_CHECKING:
    #: Parameters of a case: scalars, and lists and mappings of them in at most two levels.
    Params = dict[str, Any]
else:
    _Level = Scalar | list[Scalar] | dict[str, Scalar]
    Params = dict[str, Scalar | list[_Level] | dict[str, _Level]]
