"""What a charm's own suite looks like: two Ops charms from deploy to removal.

The fixture juju is pytest-jubilant's. Nothing here knows of unitd.
"""

from __future__ import annotations

import os
import pathlib
import shutil

import jubilant
import pytest

CHARMS = pathlib.Path(os.environ["CLIENTS_CHARMS"])


def all_is_well(status: jubilant.Status) -> bool:
    return jubilant.all_active(status) and jubilant.all_agents_idle(status)


def message(status: jubilant.Status, unit: str) -> str:
    return status.get_units(unit.partition("/")[0])[unit].workload_status.message


@pytest.mark.juju_setup
def test_deploy(juju: jubilant.Juju):
    juju.deploy(CHARMS / "mint")
    juju.deploy(CHARMS / "purse")
    status = juju.wait(
        lambda s: (
            jubilant.all_active(s, "mint")
            and jubilant.all_blocked(s, "purse")
            and jubilant.all_agents_idle(s)  # the mint is active before its version is known
        )
    )
    assert message(status, "purse/0") == "empty: integrate with a mint"
    assert status.apps["mint"].version == "1.0"


def test_integrate(juju: jubilant.Juju):
    juju.integrate("mint", "purse")
    status = juju.wait(all_is_well, error=jubilant.any_error)
    assert message(status, "purse/0") == "5 of copper: first"
    assert message(status, "mint/0") == "strikes copper for 1"


def test_secret_follows_the_action(juju: jubilant.Juju):
    task = juju.run("mint/leader", "change-die", {"word": "second"})
    assert task.results == {"changed-by": "mint/0"}
    juju.wait(lambda s: all_is_well(s) and message(s, "purse/0") == "5 of copper: second")
    assert juju.run("purse/0", "look-in").results == {"coins": "5", "word": "second"}
    [secret] = juju.secrets(owner="mint")
    assert juju.show_secret(secret.uri, reveal=True).content == {"word": "second"}


def test_scale_up(juju: jubilant.Juju):
    juju.add_unit("purse", num_units=2)
    status = juju.wait(lambda s: len(s.apps["purse"].units) == 3 and all_is_well(s))
    assert message(status, "purse/2") == "5 of copper: second"


def test_config(juju: jubilant.Juju):
    juju.config("mint", {"metal": "silver"})
    juju.wait(lambda s: all_is_well(s) and message(s, "purse/2") == "5 of silver: second")


def test_upgrade(juju: jubilant.Juju, tmp_path: pathlib.Path):
    newer = tmp_path / "mint"
    shutil.copytree(CHARMS / "mint", newer, symlinks=True)
    source = newer / "src" / "charm.py"
    source.write_text(source.read_text().replace('VERSION = "1.0"', 'VERSION = "2.0"'))
    juju.refresh("mint", path=newer)
    status = juju.wait(lambda s: all_is_well(s) and s.apps["mint"].version == "2.0")
    assert status.apps["mint"].charm_rev == 1


def test_scale_down(juju: jubilant.Juju):
    juju.remove_unit("purse/1", "purse/2")
    juju.wait(lambda s: set(s.apps["purse"].units) == {"purse/0"} and all_is_well(s))


def test_disintegrate(juju: jubilant.Juju):
    juju.remove_relation("mint", "purse")
    juju.wait(lambda s: jubilant.all_blocked(s, "purse") and jubilant.all_agents_idle(s))
    with pytest.raises(jubilant.TaskError) as caught:
        juju.run("purse/0", "look-in")
    assert caught.value.task.message == "it is empty"


@pytest.mark.juju_teardown
def test_remove(juju: jubilant.Juju):
    juju.remove_application("mint", "purse")
    juju.wait(lambda s: not s.apps and not s.machines)
