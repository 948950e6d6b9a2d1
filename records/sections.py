# SPDX-License-Identifier: Apache-2.0
"""Base of all files that people write: strict parts, keys with meaning and unit."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

NAME_PATTERN = r"^[a-z0-9][a-z0-9-]{0,63}$"

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Scalar = bool | int | float | str


class Section(BaseModel):
    """Base of every part of such a file: no conversion of types, no unknown key, no change."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def key(description: str, unit: str = "none", default: object = ..., **limits: Any) -> Any:
    """A key of the file with its meaning, its unit ("none" for words) and its allowed range."""
    extra: dict[str, Any] = {"unit": unit}
    return Field(default, description=description, json_schema_extra=extra, **limits)
