"""The fixtures of pytest-jubilant, as they are. The Go test runs this with its options."""

from __future__ import annotations

import os
import pathlib
import platform

import jubilant
import pytest

CHARMS = pathlib.Path(os.environ["CLIENTS_CHARMS"])
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@pytest.mark.juju_setup
def test_something_is_set_up(juju: jubilant.Juju):
    juju.deploy(CHARMS / "gauge")
    juju.wait(jubilant.all_active, delay=0.1)


def test_the_model_is_the_modules_own(juju: jubilant.Juju, request: pytest.FixtureRequest):
    prefix = request.config.getoption("--juju-model") or "jubilant-"
    name = juju.show_model().short_name
    assert name.startswith(prefix) and name.endswith("-test-fixtures")
    assert jubilant.all_active(juju.status(), "gauge")


def test_the_model_has_the_hosts_architecture(juju: jubilant.Juju, request: pytest.FixtureRequest):
    if request.config.getoption("--juju-cloud"):
        assert juju.model_constraints() == {}
    else:
        machine = platform.machine()
        assert juju.model_constraints() == {"arch": ARCHITECTURES.get(machine, machine)}


def test_a_module_has_several_models(juju: jubilant.Juju, juju_factory):
    other = juju_factory.get_juju("other")
    assert other.show_model().short_name == juju.show_model().short_name + "-other"
    assert "gauge" not in other.status().apps


@pytest.mark.juju_teardown
def test_what_was_set_up_is_removed(juju: jubilant.Juju):
    juju.remove_application("gauge")
    juju.wait(lambda status: not status.apps, delay=0.1)
