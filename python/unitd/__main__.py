"""``python -m unitd`` is ``unitd``."""

from __future__ import annotations

import os
import sys

from unitd._program import find_unitd_bin


def main() -> None:
    """Become the program, with this command line."""
    program = os.fspath(find_unitd_bin())
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
