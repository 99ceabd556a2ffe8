"""unitd: runs and tests Juju charms on one machine, without a controller.

The programs come with this package: ``python -m unitd`` is ``unitd``.
"""

from __future__ import annotations

from unitd._program import find_unitd_bin
from unitd._version import __version__

__all__ = ["__version__", "find_unitd_bin"]
