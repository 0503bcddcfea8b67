"""Packages that are used where they are there."""

from __future__ import annotations

import importlib
from types import ModuleType


def need(name: str, what: str) -> ModuleType:
    """The module of that name; an error that says what it is for where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{what} needs {name}: pip install {name}", name=name) from error
