"""How values are said to a world, and how what it says is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias

Duration: TypeAlias = "str | float | timedelta"
Value: TypeAlias = "str | int | float | bool"


def duration_text(duration: Duration) -> str:
    """Return a duration as scripts have it: ``1h30m``, seconds or a timedelta."""
    if isinstance(duration, timedelta):
        duration = duration.total_seconds()
    return duration if isinstance(duration, str) else f"{duration:f}s"


def all_units(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return all units of a status, those of subordinates as well."""
    found: dict[str, dict[str, Any]] = {}
    for app in status.get("applications", {}).values():
        for name, unit in app.get("units", {}).items():
            found[name] = unit
            found.update(unit.get("subordinates", {}))
    return found


def text_of(value: Value) -> str:
    """Return a value as configuration and parameters have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def param_text(value: Value) -> str:
    """Return a value as a parameter of an action, which is read as YAML: a text stays one."""
    if not isinstance(value, str):
        return text_of(value)
    # JSON is YAML but for these, of which some would end the line.
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda m: f"\\u{ord(m[0]):04x}", json.dumps(value, ensure_ascii=False))


def pairs(values: Mapping[str, str]) -> list[str]:
    """Return each as KEY=VALUE."""
    return [f"{key}={value}" for key, value in values.items()]


def optional(word: str | None) -> list[str]:
    """Return an argument that may be left out."""
    return [] if word is None else [word]


def time_of(text: str) -> datetime:
    """Read a time of RFC 3339, whose nanoseconds Python 3.10 doesn't know."""
    text = re.sub(r"(\.\d{6})\d+", r"\1", text.replace("Z", "+00:00"))
    text = re.sub(r"\.(\d{1,5})(?=[+-])", lambda m: "." + m.group(1).ljust(6, "0"), text)
    return datetime.fromisoformat(text)
