"""The plugin for pytest: docs/pytest.md says what it is for."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from unitd.world import World, WorldError

if TYPE_CHECKING:
    import jubilant

    from unitd._coverage import Measuring

__all__ = ["Plugin"]

KEY = pytest.StashKey["Plugin"]()
TIMES = {"real": True, "still": False}
DATA_FILE = ".coverage.unitd"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings."""
    group = parser.getgroup("unitd", "unitd: charms on this machine")
    group.addoption("--unitd-time", choices=sorted(TIMES), help="whether time goes on by itself in a test's world (default: real)")
    group.addoption("--unitd-isolate", choices=["on", "auto", "files", "off"], help="how units are isolated (default: off)")
    group.addoption(
        "--unitd-juju",
        action="store_true",
        help="have the program juju, on the PATH of this run, be unitd, with models of this run alone",
    )
    group.addoption(
        "--unitd-cov",
        action="append",
        nargs="?",
        const=".",
        metavar="CHARM",
        help="measure the coverage of the charm in that directory (default: the root directory) as hooks run it",
    )
    parser.addini("unitd_time", "as --unitd-time", default="real")
    parser.addini("unitd_isolate", "as --unitd-isolate", default="off")
    parser.addini("unitd_juju", "as --unitd-juju", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Begin what is there for the whole run."""
    config.addinivalue_line(
        "markers", "unitd(time=..., isolate=...): how the world of the fixture unitd is; time is real or still, isolate is as for deploy"
    )
    plugin = Plugin(config)
    config.stash[KEY] = plugin
    config.pluginmanager.register(plugin, "unitd-worlds")
    others = any(getattr(p, "__name__", "").startswith("pytest_jubilant") for p in config.pluginmanager.get_plugins())
    if not others:
        config.pluginmanager.register(JujuFixture(), "unitd-juju")


@dataclass(eq=False)
class Plugin:
    """What one process of pytest has of unitd."""

    config: pytest.Config
    worlds: list[World] = field(default_factory=list)
    everybody: World | None = None
    measuring: Measuring | None = None
    _path: str | None = None

    def pytest_sessionstart(self) -> None:
        """Begin to measure, and have ``juju`` be unitd, where it is asked for."""
        if self._is_controller():
            return
        roots = [Path(self.config.rootpath, r).resolve() for r in self.config.getoption("--unitd-cov") or []]
        if roots:
            try:
                from unitd._coverage import Measuring
                import coverage as _  # noqa: F401
            except ImportError:
                raise pytest.UsageError("--unitd-cov needs the package coverage: install it beside pytest") from None
            self.measuring = Measuring(roots, self.config.rootpath)
        if self.config.getoption("--unitd-juju") or self.config.getini("unitd_juju"):
            self.everybody = self.open(time="real")
            self._path = os.environ.get("PATH", "")
            os.environ["PATH"] = f"{self.everybody.bin}{os.pathsep}{self._path}"

    def _is_controller(self) -> bool:
        """Say whether this process only has others run the tests."""
        return bool(getattr(self.config.option, "dist", "no") != "no") and not hasattr(self.config, "workerinput")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End the world of the whole run, and keep what was measured."""
        if self._path is not None:
            os.environ["PATH"], self._path = self._path, None
        if self.everybody is not None:
            world, self.everybody = self.everybody, None
            self.close(world)
        if self.measuring is not None:
            worker = getattr(self.config, "workerinput", {}).get("workerid", "main")
            self.measuring.write(self.config.rootpath / f"{DATA_FILE}-{worker}")
            self.measuring.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the coverage of all processes."""
        if not self.config.getoption("--unitd-cov") or hasattr(self.config, "workerinput"):
            return
        from unitd._coverage import combine, report

        root = self.config.rootpath
        combine(sorted(root.glob(DATA_FILE + "-*")), root / DATA_FILE)
        terminalreporter.section("coverage of charms, as hooks ran them")
        report(root / DATA_FILE, root, terminalreporter)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add to the report of what has failed how the worlds look."""
        report = yield
        if report.failed and report.when != "teardown":
            for world in self.worlds:
                report.sections.extend(sections(world))
        return report

    def open(self, *, time: str | None = None, isolate: str | None = None) -> World:
        """Open a world as the options say, and the arguments, which come first."""
        time = time or self.config.getoption("--unitd-time") or self.config.getini("unitd_time")
        isolate = isolate or self.config.getoption("--unitd-isolate") or self.config.getini("unitd_isolate")
        if time not in TIMES:
            raise pytest.UsageError(f"unitd: the time of a world is real or still, not {time!r}")
        world = World(
            real_time=TIMES[time],
            isolate=isolate,
            environment=self.measuring.environment if self.measuring else None,
        )
        self.worlds.append(world)
        return world

    def close(self, world: World) -> None:
        """End a world."""
        self.worlds.remove(world)
        if self.measuring is not None:
            self.measuring.collect(world.data)
        world.close()

    def during(self, node: pytest.Item | pytest.Collector) -> Iterator[World]:
        """Have a world be there for a fixture."""
        marker = node.get_closest_marker("unitd")
        world = self.open(**(marker.kwargs if marker else {}))
        yield world
        self.close(world)


def sections(world: World) -> list[tuple[str, str]]:
    """Return what a report shows of a world: hooks, statuses and logs."""
    try:
        found = [("unitd: units and their hooks", world.report().strip())]
    except WorldError as e:
        return [("unitd", f"the world can't be looked at: {e}")]

    def said(*words: str) -> str:
        done = subprocess.run([world.bin / "unitd", *words], capture_output=True, text=True, timeout=120)
        return (done.stdout or done.stderr).strip()

    for model in json.loads(said("models", "--format", "json"))["models"]:
        name = model["short-name"]
        status = said("status", "-m", name)
        if "Unit " not in status:
            continue  # nobody is in it
        found.append((f"unitd: status of {name}", status))
        found.append((f"unitd: log of {name}", said("debug-log", "-m", name, "--lines", "60", "--no-tail")))
    return found


@pytest.fixture
def unitd(request: pytest.FixtureRequest) -> Iterator[World]:
    """A world of the test's own: a private model, gone after the test."""
    yield from request.config.stash[KEY].during(request.node)


@pytest.fixture(scope="module")
def unitd_module(request: pytest.FixtureRequest) -> Iterator[World]:
    """A world that the tests of a module share, as for a model that is deployed once and restored for each."""
    yield from request.config.stash[KEY].during(request.node)


class JujuFixture:
    """The fixture ``juju``, for who hasn't got that of pytest-jubilant."""

    @pytest.fixture
    def juju(self, unitd: World) -> jubilant.Juju:
        """A jubilant.Juju on the world of the fixture ``unitd``."""
        return unitd.jubilant()
