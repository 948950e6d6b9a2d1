# SPDX-License-Identifier: Apache-2.0
"""Machine forms: structs whose keys are described, each key in one place.

The bytes of a form, its JSON Schema (draft 2020-12) and the table of its keys in docs are all made
from the struct. `schema` counts up when a key is taken away or means something else; keys may be
added at any time, so a reader must expect further ones.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Self

import msgspec

#: The dialect of the schemas.
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def key(
    description: str, title: str = "", show: Callable[..., Any] = str, *, numeric: bool = False
) -> msgspec.Meta:
    """Description of a key: `run_id: Annotated[str, key("The run.")]`.

    With a title it is also a column of `reports.show.tables.table_of`; `show` makes its cell from
    the value, and a numeric column is set flush right.
    """
    column = {"title": title, "show": show, "numeric": numeric} if title else None
    return msgspec.Meta(description=description, extra=column)


class Part(msgspec.Struct):
    """A part of a form. A value that is `msgspec.UNSET` leaves its key out."""

    @classmethod
    def filled(cls, source: object, **further: Any) -> Self:
        """The part with these keys, and the others from the attributes of an object. Parts of it
        are made likewise; a key without an attribute has its default. Raises
        msgspec.ValidationError for a value of another type."""
        found = {
            name: _python_value(value)
            for name in cls.__struct_fields__
            if (value := further.get(name, getattr(source, name, msgspec.UNSET)))
            is not msgspec.UNSET
        }
        return msgspec.convert(found, cls, from_attributes=True)


class Form(Part, kw_only=True):
    """A whole form (`kw_only=True`); one of a later version declares `schema` anew."""

    schema: Annotated[int, key("The version of this form.")] = 1


def as_bytes(content: object) -> bytes:
    """Content as JSON; scalars of NumPy become Python's, NaN and infinity null. Raises TypeError
    for what JSON does not know."""

    def scalar(value: object) -> object:
        if (found := _python_value(value)) is value:
            raise TypeError(f"objects of type {type(value).__name__} have no form in JSON")
        return found

    return msgspec.json.encode(content, enc_hook=scalar)


def _python_value(value: Any) -> Any:
    """A scalar of NumPy, which this module must not import, as Python's; else the value."""
    return value.item() if hasattr(value, "dtype") and not getattr(value, "shape", 1) else value


def as_text(form: object) -> str:
    """A form as indented JSON, with a line break at its end."""
    return msgspec.json.format(as_bytes(form), indent=1).decode() + "\n"


def struct_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a struct, equal on all versions of Python: 3.13 strips docstrings."""
    found: dict[str, Any] = msgspec.json.schema(struct)
    for part in found["$defs"].values():
        if "description" in part:
            part["description"] = inspect.cleandoc(part["description"])
    return found


def json_schema(form: type[Part], title: str) -> dict[str, Any]:
    """The JSON Schema of a form; `schema` is the constant that its bytes have."""
    found = struct_schema(form)
    parts = found["$defs"]
    for part in parts.values():
        for value in part.get("properties", {}).values():
            if value.get("default") is msgspec.UNSET:
                del value["default"]
    whole = parts.pop(form.__name__)
    whole["properties"]["schema"] = {
        "description": "The version of this form.",
        "const": whole["properties"]["schema"]["default"],
    }
    whole["required"].insert(0, "schema")
    return {"$schema": DIALECT, **whole, "$defs": parts, "title": title}


def key_table(schema: dict[str, Any]) -> str:
    """Every key of a schema with its meaning, as a Markdown table; a struct is explained once."""
    rows = (f"| `{path}` | {text} |" for path, text in _keys(schema, schema, "", {}))
    return "\n".join(["| key | meaning |", "|---|---|", *rows])


def _keys(
    node: dict[str, Any], schema: dict[str, Any], path: str, shown: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """The keys below a node of a schema; of a choice of types those of each; `shown`: the path of
    each struct whose keys were given."""
    if shown.setdefault(name := node.get("$ref", ""), path) != path and name:
        yield f"{path}.…", f"Keys as in `{shown[name]}`"
        return
    node = _referred(node, schema)
    for choice in node.get("anyOf", ()):
        yield from _keys(choice, schema, path, shown)
    if isinstance(items := node.get("items"), dict):
        yield from _keys(items, schema, f"{path}[]", shown)
    if isinstance(value := node.get("additionalProperties"), dict):
        yield from _keys(value, schema, f"{path}.NAME", shown)
    for name, value in node.get("properties", {}).items():
        inner = f"{path}.{name}".removeprefix(".")
        text = value.get("description") or _referred(value, schema).get("description", "")
        yield inner, text.rstrip(".").replace("|", "\\|")
        yield from _keys(value, schema, inner, shown)


def _referred(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = node.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = schema["$defs"][name] if name else node
    return found
