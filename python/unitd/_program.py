"""Where the program is that came with this package."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def find_unitd_bin() -> Path:
    """Return the path of the program ``unitd``.

    That is ``$UNITD_BIN``, else the one that was installed with this package,
    else the one on the ``PATH``. It raises ``FileNotFoundError`` where there is none.
    """
    told = os.environ.get("UNITD_BIN")
    if told:
        path = Path(told).absolute()
        if not path.is_file():
            raise FileNotFoundError(f"UNITD_BIN names {told}, which is no file")
        return path
    for directory in _scripts():
        path = directory / "unitd"
        if path.is_file():
            return path
    found = shutil.which("unitd")
    if found:
        return Path(found).absolute()
    raise FileNotFoundError("there is no program unitd: install the package unitd again, or set UNITD_BIN")


def _scripts() -> Iterator[Path]:
    """Yield the directories into which an installer may have put programs."""
    yield Path(sysconfig.get_path("scripts"))
    if sys.version_info >= (3, 10):
        yield Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    package = Path(__file__).resolve().parent
    yield package.parent / "bin"  # pip install --target
    parts = package.parts
    if len(parts) >= 4 and parts[-2] == "site-packages":  # PREFIX/lib/pythonX.Y/site-packages/unitd
        yield package.parents[3] / "bin"
