# SPDX-License-Identifier: Apache-2.0
"""What all machine forms have in common: described keys, no others, and a version."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """A part of a form: every key is described by the text below it."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        from_attributes=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )


class Form(Part):
    """A whole form. `schema` counts up when a key is taken away or means something else; keys may
    be added at any time."""

    VERSION: ClassVar[int] = 1
    version: int = Field(1, alias="schema")
    """The version of this form."""

    @classmethod
    def of(cls, **content: Any) -> Self:
        """The form of this content; parts may be objects that have the keys as attributes."""
        return cls.model_validate(content)

    def text(self) -> str:
        """As JSON."""
        return self.model_dump_json(by_alias=True, indent=1)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema (draft 2020-12). A reader must expect further keys."""
        found = cls.model_json_schema(by_alias=True, mode="serialization")
        found["properties"]["schema"]["const"] = cls.VERSION
        return found


class Interval(Part):
    """An interval; SI base units, or a ratio."""

    low: float
    """Lower end."""
    high: float
    """Upper end."""
    level: float
    """Its level: 0.95, or what the number of launches allows."""
    method: str
    """How it was made."""
