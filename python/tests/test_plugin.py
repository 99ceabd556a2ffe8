"""What the plugin does within runs of pytest of its own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

JUBILANT_ALONE = ("-p", "no:pytest-jubilant")


def test_the_fixtures_are_a_world_of_the_tests_own(pytester: pytest.Pytester, shop: Path) -> None:
    pytester.makepyfile(
        f"""
        import jubilant, pytest

        def test_juju(juju, unitd):
            juju.deploy({str(shop)!r})
            status = juju.wait(jubilant.all_blocked, delay=0.2)
            assert status.apps["shop"].units["shop/0"].is_blocked
            assert unitd.hooks("shop/0")[-1] == "start"
            assert unitd.clock.real

        @pytest.mark.unitd(time="still")
        def test_another(juju, unitd):
            assert not unitd.clock.real
            assert not juju.status().apps
            open("where", "w").write(str(unitd.work))
        """
    )
    pytester.runpytest(*JUBILANT_ALONE).assert_outcomes(passed=2)
    assert not Path((pytester.path / "where").read_text()).exists()


def test_a_module_deploys_once_and_restores_before_each_test(pytester: pytest.Pytester, shop: Path) -> None:
    pytester.makeconftest(
        f"""
        import pytest

        @pytest.fixture(scope="module")
        def deployed(unitd_module):
            unitd_module.deploy({str(shop)!r})
            return unitd_module.snapshot()

        @pytest.fixture
        def unitd(deployed):
            deployed.restore()
            return deployed.world
        """
    )
    pytester.makepyfile(
        """
        import pytest
        pytestmark = pytest.mark.unitd(time="still")

        @pytest.mark.parametrize("n", range(3))
        def test_it(unitd, n):
            assert unitd.hooks("shop/0")[-1] == "start"
            unitd.config("shop", {"currency": f"N{n}"})
            unitd.settle()
            assert unitd.hooks("shop/0")[-2:] == ["start", "config-changed"]
        """
    )
    pytester.runpytest().assert_outcomes(passed=3)


def test_the_report_of_a_failure_shows_the_world(pytester: pytest.Pytester, shop: Path) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.unitd(time="still")
        def test_it(unitd):
            unitd.deploy({str(shop)!r})
            unitd.fail("shop/0", "install")
            unitd.settle()

        def test_alright(unitd):
            pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.re_match_lines_random(
        [
            r".*CommandError: settle: shop/0: hook failed: \"install\"",
            r"-+ unitd: units and their hooks -+",
            r" +\S+ +install +failed, exit .*",
            r"-+ unitd: status of default -+",
            r"shop/0\* +error .*hook failed: \"install\"",
            r"-+ unitd: log of default -+",
            r"unit-shop-0: .*",
        ]
    )
    assert str(result.stdout).count("status of default") == 1


def test_pytest_jubilants_fixtures_are_on_unitd_by_an_option(pytester: pytest.Pytester, shop: Path) -> None:
    pytester.makeini("[pytest]\nunitd_juju = true")
    pytester.makepyfile(
        f"""
        import jubilant, shutil, subprocess

        def test_deploy(juju):
            assert juju.model.startswith("jubilant-")
            juju.deploy({str(shop)!r})

        def test_what_came_of_it(juju):
            juju.wait(jubilant.all_blocked, delay=0.2, successes=1)
            assert b"shop" in subprocess.check_output(["juju", "status", "--model", juju.model])
            assert False, "to see the report"
        """
    )
    before = shutil.which("juju")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.re_match_lines([r"-+ unitd: status of jubilant-.* -+", r"shop/0\* +blocked .*"])
    assert shutil.which("juju") == before


def test_workers_of_xdist_have_worlds_of_their_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, pytest

        @pytest.mark.parametrize("n", range(4))
        def test_it(unitd, n, testrun_uid, worker_id):
            unitd.stub("pg", "db:sql")
            unitd.settle()
            assert list(unitd.status_json()["applications"]) == ["pg"]
            open(f"seen-{n}", "w").write(f"{worker_id} {unitd.data}")
        """
    )
    pytester.runpytest("-n", "2", *JUBILANT_ALONE).assert_outcomes(passed=4)
    seen = [file.read_text().split() for file in pytester.path.glob("seen-*")]
    assert len({data for _, data in seen}) == 4
    assert {worker for worker, _ in seen} == {"gw0", "gw1"}


@pytest.fixture
def counter(pytester: pytest.Pytester) -> Path:
    """A charm in Python without a framework, in the root directory; its hooks run different lines."""
    for name, text in {
        "metadata.yaml": "name: counter\nsummary: counts\n",
        "dispatch": "#!/bin/sh\nPYTHONPATH=lib:venv exec python3 src/charm.py\n",
        "lib/helper.py": "def install():\n    return 1\n\n\ndef start():\n    return 2\n\n\ndef never():\n    return 3\n",
        "src/charm.py": "import os\n\nimport helper\n\nhook = os.environ['JUJU_HOOK_NAME']\nif hook in ('install', 'start'):\n    getattr(helper, hook)()\n",
    }.items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (pytester.path / "dispatch").chmod(0o755)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("n", range(2))
        def test_it(unitd, n):
            unitd.deploy(".", num_units=2)
            unitd.settle()
        """
    )
    return pytester.path


@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["one", "workers"])
def test_coverage_is_that_of_the_authors_files(pytester: pytest.Pytester, counter: Path, more: tuple[str, ...]) -> None:
    import coverage

    result = pytester.runpytest("--unitd-cov", *more, *JUBILANT_ALONE)
    result.assert_outcomes(passed=2)
    result.stdout.re_match_lines([r"lib/helper.py +6 +1 +83%", r"src/charm.py +5 +0 +100%"])
    data = coverage.CoverageData(basename=str(counter / ".coverage.unitd"))
    data.read()
    helper = str(counter / "lib" / "helper.py")
    assert data.measured_files() == {helper, str(counter / "src" / "charm.py")}
    by_hook = data.contexts_by_lineno(helper)
    assert sorted(by_hook[2]) == ["counter/0:install", "counter/1:install"]
    assert sorted(by_hook[6]) == ["counter/0:start", "counter/1:start"]
    assert 10 not in by_hook
    assert sorted(p.name for p in counter.glob(".coverage*")) == [".coverage.unitd"]


def test_coverage_of_units_that_have_gone(pytester: pytest.Pytester, counter: Path) -> None:
    pytester.makepyfile(
        """
        def test_it(unitd):
            unitd.deploy(".")
            unitd.settle()
            unitd.remove_application("counter")
            unitd.settle()
            assert not unitd.status_json()["applications"]
        """
    )
    result = pytester.runpytest("--unitd-cov", *JUBILANT_ALONE)
    result.assert_outcomes(passed=1)
    result.stdout.re_match_lines([r"src/charm.py +5 +0 +100%"])


def test_coverage_of_worlds_that_are_open_at_the_same_time(pytester: pytest.Pytester, counter: Path) -> None:
    pytester.makepyfile(
        """
        def test_the_first(unitd_module):
            unitd_module.deploy(".")
            unitd_module.settle()

        def test_another(unitd, unitd_module):
            assert unitd is not unitd_module
        """
    )
    result = pytester.runpytest("--unitd-cov", *JUBILANT_ALONE)
    result.assert_outcomes(passed=2)
    result.stdout.re_match_lines([r"src/charm.py +5 +0 +100%"])


def test_coverage_of_branches_where_the_author_has_it(pytester: pytest.Pytester, counter: Path) -> None:
    (counter / ".coveragerc").write_text("[run]\nbranch = true\n")
    result = pytester.runpytest("--unitd-cov", *JUBILANT_ALONE)
    result.stdout.re_match_lines([r"Name +Stmts +Miss +Branch +BrPart +Cover", r"src/charm.py +5 +0 +2 +0 +100%"])


def test_what_is_no_time_is_said(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.unitd(time='soon')\ndef test_it(unitd): pass\n")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the time of a world is real or still, not 'soon'*"])


def test_all_of_it_is_there_by_help(pytester: pytest.Pytester) -> None:
    out = str(pytester.runpytest("--help").stdout)
    assert set(re.findall(r"--unitd-\w+", out)) == {"--unitd-time", "--unitd-isolate", "--unitd-juju", "--unitd-cov"}
    markers = str(pytester.runpytest("--markers").stdout)
    assert "@pytest.mark.unitd(" in markers
