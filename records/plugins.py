# SPDX-License-Identifier: Apache-2.0
"""Plugins: what a folder of `plugins/`, or a package that is installed, adds to Assay.

A plugin is one object of class `Plugin`: `PLUGIN` of the module `plugin.py` of a folder, or the
object that an entry point of group `assay.plugins` names. What a plugin names is text
"module:name", imported when it is needed.
"""

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from records.errors import AssayError

#: The folder of plugins that come with Assay.
SHIPPED = Path(__file__).resolve().parent.parent / "plugins"
#: The group of entry points of installed plugins.
GROUP = "assay.plugins"


class Command(NamedTuple):
    """A command of the command line: its help in a line, and the function that declares its
    arguments on a parser, "module:name"."""

    text: str
    declare: str


class Plugin(NamedTuple):
    """Commands, forms, schemas and hooks that a plugin adds. Folders `checks/`, `sections/` and
    `campaigns/` beside its `plugin.py` are found by their names.

    `forms`: machine forms by the name that `assay schema` takes. `schemas`: functions that give the
    JSON Schema of what people write. `hooks`: functions by the name of the place in the core that
    calls them; docs/plugins.md lists these places.
    """

    name: str
    commands: Mapping[str, Command] = MappingProxyType({})
    forms: Mapping[str, str] = MappingProxyType({})
    schemas: Mapping[str, str] = MappingProxyType({})
    hooks: Mapping[str, str] = MappingProxyType({})


def loaded(name: str) -> Any:
    """The object that "module:name" names, imported."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


@cache
def plugins() -> dict[str, Plugin]:
    """Every plugin by its package: those of the folder `plugins`, then installed ones. Raises
    AssayError for one that cannot be imported."""
    folders = sorted(path.parent.name for path in SHIPPED.glob("*/plugin.py"))
    found: dict[str, Plugin] = {}
    for name in [f"plugins.{folder}.plugin:PLUGIN" for folder in folders] + _installed():
        module = name.partition(":")[0]
        try:
            plugin, is_package = loaded(name), hasattr(import_module(module), "__path__")
            if not isinstance(plugin, Plugin):
                raise TypeError(f"it is {plugin!r:.80}, not a records.plugins.Plugin")
        except Exception as error:
            raise AssayError(
                f"plugin {name} cannot be used: {type(error).__name__}: {error}; mend it, or"
                " uninstall its package"
            ) from error
        found[module if is_package else module.rpartition(".")[0]] = plugin
    return found


def _installed() -> list[str]:
    """Entry points of installed packages. Only files that name the group are parsed, for
    `importlib.metadata` reads the descriptions of all packages."""
    files = (
        file
        for folder in dict.fromkeys(sys.path)
        for file in Path(folder).glob("*.dist-info/entry_points.txt")
    )
    if not any(f"[{GROUP}]" in file.read_text(encoding="utf-8") for file in files):
        return []
    from importlib.metadata import entry_points  # slow: parsers of mail and archives

    return sorted(point.value for point in entry_points(group=GROUP))


def hooks(name: str) -> list[Any]:
    """Hooks of plugins on a place of the core, imported, in the order of plugins."""
    return [loaded(plugin.hooks[name]) for plugin in plugins().values() if name in plugin.hooks]


def folders(kind: str) -> dict[str, Path]:
    """Folders "checks", "sections" or "campaigns" of plugins, by the package that each is."""
    found = {name: Path(str(import_module(name).__file__)).parent / kind for name in plugins()}
    return {f"{name}.{kind}": folder for name, folder in found.items() if folder.is_dir()}
