"""What the tests of the package share. The plugin itself is loaded by PYTEST_PLUGINS."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CHARMS = Path(__file__).resolve().parents[2] / "testcharms"


@pytest.fixture
def shop() -> Path:
    """A charm that needs a database."""
    return CHARMS / "shop"


@pytest.fixture
def ledger() -> Path:
    """A charm that is one."""
    return CHARMS / "ledger"
