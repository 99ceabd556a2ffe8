"""Coverage of charms' code as their hooks run it.

Hooks are processes of their own, with an environment that is built from nothing and
a dispatch that says where Python looks for packages. So what starts coverage there
is a program ``python3`` that comes first on the agent's PATH: it calls the real one
with one more place to import from, whose sitecustomize begins to measure.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import coverage

CUSTOMIZE = """\
import os
try:
    import coverage
    coverage.process_startup()
except Exception as e:
    import sys
    print("unitd: coverage can't begin:", e, file=sys.stderr)
"""

# What a hook is called in the contexts of the data: its unit and its name.
SETTINGS = """\
[run]
parallel = true
branch = {branch}
data_file = {data}/hook
source = .
omit =
    venv/*
    */venv/*
    tests/*
    test_*.py
    */test_*.py
    */conftest.py
    conftest.py
context = ${{JUJU_UNIT_NAME-}}:${{JUJU_HOOK_NAME-}}
disable_warnings = no-data-collected,module-not-measured,couldnt-parse
"""

SHIM = """\
#!/bin/sh
# Made by unitd: runs Python with coverage of the charm's code.
here=$(dirname "$0")
for packages in "$here"/../lib/python*/site-packages; do
	# A virtual environment that was made of this program.
	[ -d "$packages" ] && PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}$packages"
done
if [ -n "$JUJU_UNIT_NAME" ]; then
	export COVERAGE_PROCESS_START={settings}
	PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}{packages}"
fi
export PYTHONPATH
exec {python} "$@"
"""

_NAME = re.compile(r"""^name:\s*["']?([\w-]+)""", re.MULTILINE)


class Measuring:
    """What measures the charms of one process of pytest."""

    def __init__(self, roots: Sequence[Path], root: Path) -> None:
        import coverage

        self.roots = {charm_name(r): r for r in roots}
        """The charms' source trees, by the charms' names."""
        python = shutil.which("python3")
        if python is None:
            raise FileNotFoundError("there is no python3 on the PATH, which hooks would run with")
        self.branch = bool(_settings_of(root).get_option("run:branch"))
        self._directory = Path(tempfile.mkdtemp(prefix="unitd-cov-"))
        self._data = self._directory / "data"
        self._data.mkdir()
        packages = self._directory / "packages"
        packages.mkdir()
        (packages / "coverage").symlink_to(Path(coverage.__file__).parent)
        (packages / "sitecustomize.py").write_text(CUSTOMIZE)
        settings = self._directory / "coveragerc"
        settings.write_text(SETTINGS.format(branch=self.branch, data=self._data))
        programs = self._directory / "bin"
        programs.mkdir()
        for name in ("python3", "python"):
            real = shutil.which(name)
            if real:
                shim = programs / name
                shim.write_text(SHIM.format(settings=settings, packages=packages, python=shlex.quote(real)))
                shim.chmod(0o755)
        self.environment = {"PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"}
        """What a world has to be opened with."""
        self._found = coverage.CoverageData(basename=str(self._directory / "found"))

    def collect(self, data: Path) -> None:
        """Take what the hooks of a world have measured, before its directories go.

        What those of other worlds have measured, which may be open at the same time, stays
        for them, and so does what can't be read: a hook still writes it, or was killed.
        """
        import coverage

        for file in sorted(self._data.iterdir()):
            measured = coverage.CoverageData(basename=str(file))
            try:
                measured.read()
                theirs = any(Path(path).is_relative_to(data) for path in measured.measured_files())
                if theirs:
                    self._found.update(measured, map_path=lambda path: self._source(path, data))
            except coverage.CoverageException:
                theirs = False
            measured.close()
            if theirs:
                file.unlink(missing_ok=True)

    def _source(self, path: str, data: Path) -> str:
        """Return the author's file for one of a unit's charm directory."""
        parts = Path(path).parts
        if not Path(path).is_relative_to(data) or "charm" not in parts[len(data.parts) :]:
            return path
        at = parts.index("charm", len(data.parts))
        charm, rest = Path(*parts[: at + 1]), Path(*parts[at + 1 :])
        root = self.roots.get(charm_name(charm)) if charm.is_dir() else self._root_of(parts[at - 1], rest)
        return str(root / rest) if root else path

    def _root_of(self, unit: str, rest: Path) -> Path | None:
        """Return the root with that file for a unit, by its tag, that has gone with its charm.

        Where several have such a file, it is the one of the charm that the application is called after.
        """
        having = {name: root for name, root in self.roots.items() if (root / rest).is_file()}
        if len(having) > 1:
            return having.get(unit.removeprefix("unit-").rpartition("-")[0])
        return next(iter(having.values()), None)

    def write(self, file: Path) -> None:
        """Write what was found of the author's files into a data file of coverage's own."""
        import coverage

        out = coverage.CoverageData(basename=str(file))
        out.erase()
        out.update(self._found)
        roots = tuple(str(r) + os.sep for r in self.roots.values())
        strangers = [f for f in out.measured_files() if not f.startswith(roots) or not Path(f).is_file()]
        out.purge_files(strangers)
        out.write()
        out.close()

    def close(self) -> None:
        """Remove what it has made."""
        self._found.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def combine(files: Sequence[Path], out: Path) -> None:
    """Make one data file of those of several processes, which are removed."""
    import coverage

    whole = coverage.CoverageData(basename=str(out))
    whole.erase()
    for file in files:
        part = coverage.CoverageData(basename=str(file))
        part.read()
        whole.update(part)
        part.close()
        file.unlink(missing_ok=True)
    whole.write()
    whole.close()


def report(data: Path, root: Path, stream: Any) -> None:
    """Print the table of coverage."""
    import coverage

    whole = _settings_of(root, data)
    whole.load()
    if whole.get_data().measured_files():
        whole.report(file=stream)
    else:
        stream.write("no hook has run any Python of these charms\n")
    whole.get_data().close()


def _settings_of(root: Path, data: Path | None = None) -> coverage.Coverage:
    """Return a Coverage with the settings that the author's directory has."""
    import coverage

    for name in (".coveragerc", "pyproject.toml", "setup.cfg", "tox.ini"):
        if (root / name).is_file():
            return coverage.Coverage(data_file=str(data) if data else None, config_file=str(root / name))
    return coverage.Coverage(data_file=str(data) if data else None, config_file=False)


def charm_name(directory: Path) -> str:
    """Return the name of the charm in a directory, or an empty string."""
    for name in ("metadata.yaml", "charmcraft.yaml"):
        try:
            found = _NAME.search((directory / name).read_text())
        except OSError:
            continue
        if found:
            return found.group(1)
    return ""
