"""unitd: runs and tests Juju charms on one machine, without a controller.

The programs come with this package: ``python -m unitd`` is ``unitd``. The plugin for
pytest (the extra ``pytest``) has the fixtures ``unitd`` and ``juju``; what the first
one is can be used by itself:

>>> with World() as world:
...     world.deploy("./charm", "shop")
...     world.settle()
"""

from __future__ import annotations

from unitd._program import find_unitd_bin
from unitd._version import __version__
from unitd.faults import Fault, faults
from unitd.world import Agent, Clock, CommandError, MisuseError, Snapshot, Status, Stub, World, WorldError

__all__ = [
    "Agent",
    "Clock",
    "CommandError",
    "Fault",
    "MisuseError",
    "Snapshot",
    "Status",
    "Stub",
    "World",
    "WorldError",
    "__version__",
    "faults",
    "find_unitd_bin",
]
