"""The examples of docs/pytest.md, as they are there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pytest.md"


def examples() -> dict[str, str]:
    """Return the code in Python of each section, by its heading."""
    found: dict[str, str] = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        if code := "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)):
            found[heading] = code
    return found


def test_the_page_has_those_examples() -> None:
    assert list(examples()) == ["A first test", "Time", "Deploy once, restore before each test", "A test for each fault"]


def test_they_pass(pytester: pytest.Pytester, shop: Path) -> None:
    shutil.copytree(shop, pytester.path / "shop")
    tests = pytester.path / "shop" / "tests"
    found = examples()
    (tests / "test_first.py").write_text(found["A first test"] + found["Time"] + found["A test for each fault"])
    shared = tests / "shared"
    shared.mkdir()
    (shared / "conftest.py").write_text(found["Deploy once, restore before each test"].replace(".parent.parent", ".parent.parent.parent"))
    (shared / "test_shared.py").write_text("def test_it(unitd):\n    assert unitd.hooks('shop/0')[-1] == 'start'\n")
    faults = 2 * (1 + 3 + 3)
    pytester.runpytest("-p", "no:pytest-jubilant", str(tests)).assert_outcomes(passed=4 + faults)
