"""What the tests have called of Jubilant, and what it has read of unitd's answers.

Jubilant is not changed: its public functions are called through, and its dataclasses
are looked at when they are made. What there is of both is found by inspection, so
that a version with one more of either has it missed.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types

import jubilant
from jubilant import modeltypes, secrettypes, statustypes, unittypes

# Parameters that were given, by method or function; all are in it, from the start.
given: dict[str, set[str]] = {}
# How often each was called.
calls: dict[str, int] = {}
# Fields that had more than their default, by dataclass.
filled: dict[str, set[str]] = {}
# Exceptions that were raised.
raised: dict[str, int] = {}


def parameters() -> dict[str, set[str]]:
    """What the public functions and methods of the library can be given."""
    return {
        name: set(inspect.signature(function).parameters) - {"self"}
        for name, function in _functions().items()
    }


def fields() -> dict[str, set[str]]:
    """The fields of the library's dataclasses."""
    return {cls.__name__: {f.name for f in dataclasses.fields(cls)} for cls in _dataclasses()}


def start() -> None:
    """Record from here on. The library is the one of this process, for good."""
    for name, function in _functions().items():
        given[name], calls[name] = set(), 0
        owner = jubilant.Juju if "." in name else jubilant
        setattr(owner, name.rpartition(".")[2], _called(name, function))
    for cls in _dataclasses():
        filled[cls.__name__] = set()
        cls.__init__ = _made(cls)
    for cls in _exceptions():
        raised[cls.__name__] = 0
        cls.__init__ = _raised(cls)


def _functions() -> dict[str, types.FunctionType]:
    found = {}
    for name, value in vars(jubilant.Juju).items():
        if not name.startswith("_") and inspect.isfunction(value):
            found[f"Juju.{name}"] = inspect.unwrap(value)
    for name in jubilant.__all__:
        value = getattr(jubilant, name)
        if inspect.isfunction(value):
            found[name] = value
    return found


def _exceptions() -> list[type]:
    values = [getattr(jubilant, name) for name in jubilant.__all__]
    return [v for v in values if inspect.isclass(v) and issubclass(v, Exception)]


def _dataclasses() -> list[type]:
    found = {}
    for module in (jubilant, modeltypes, secrettypes, statustypes, unittypes):
        for value in vars(module).values():
            if inspect.isclass(value) and dataclasses.is_dataclass(value):
                found[value.__name__] = value
    return [found[name] for name in sorted(found)]


def _called(name, function):
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        result = function(*args, **kwargs)
        calls[name] += 1
        given[name].update(signature.bind(*args, **kwargs).arguments)
        return result

    return call


def _made(cls):
    init = cls.__init__

    @functools.wraps(init)
    def make(self, *args, **kwargs):
        init(self, *args, **kwargs)
        for field in dataclasses.fields(cls):
            value = getattr(self, field.name)
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
            if (required and value is not None) or (not required and value != default):
                filled[cls.__name__].add(field.name)

    return make


def _raised(cls):
    init = cls.__init__

    @functools.wraps(init)
    def make(self, *args, **kwargs):
        init(self, *args, **kwargs)
        raised[cls.__name__] += 1

    return make
