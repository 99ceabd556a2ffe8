"""Applications: deployed, set, related, grown, refreshed, removed."""

from __future__ import annotations

import pathlib

import jubilant
import pytest
import yaml
from conftest import CHARMS


def test_a_charm_is_deployed_with_all_that_can_be_said(juju, settle, tmp_path):
    plate = tmp_path / "plate.txt"
    plate.write_text("brass\n")
    juju.deploy(
        str(CHARMS / "gauge"),
        "meter",
        base="ubuntu@24.04",
        bind="alpha",
        config={"unit": "mbar", "limit": 20, "scale": 0.25, "lit": True, "ports": True, "together": "all is well"},
        constraints={"mem": "64M", "cores": 1},
        force=True,
        num_units=2,
        resources={"plate": str(plate)},
        storage={"tank": "2M,1"},
        trust=True,
    )
    meter = juju.status().apps["meter"]
    assert set(meter.units) == {"meter/0", "meter/1"}, "the units are there when deploy returns"
    settle()
    status = juju.status()
    meter = status.apps["meter"]
    assert (meter.charm, meter.charm_name, meter.charm_rev, meter.charm_origin) == ("local:gauge-0", "gauge", 0, "local")
    assert (meter.base.name, meter.base.channel) == ("ubuntu", "24.04")
    assert (meter.charm_version, meter.version, meter.exposed) == ("1.0-first", "1.0-first", False)
    assert (meter.app_status.current, meter.app_status.message) == ("active", "all is well")
    assert meter.is_active and not meter.relations["ring"][0].scope == ""
    assert meter.endpoint_bindings[""] == "alpha" and meter.endpoint_bindings["reading"] == "alpha"
    unit = meter.units["meter/0"]
    assert unit.leader and unit.is_active and unit.public_address
    assert unit.workload_status.message == "in mbar"
    assert unit.open_ports == ["8080/tcp", "9000-9010/udp"]
    assert unit.juju_status.version.startswith("3.6.")
    machine = status.machines[unit.machine]
    assert machine.juju_status.current == "started" and machine.machine_status.current == "running"
    assert machine.ip_addresses and machine.dns_name and machine.hostname and machine.instance_id
    assert (machine.base.name, machine.base.channel) == ("ubuntu", "24.04")
    assert "arch=" in machine.hardware
    storage = status.storage.storage["tank/0"]
    assert (storage.kind, storage.persistent, storage.status.current) == ("filesystem", True, "attached")
    attached = storage.attachments.units["meter/0"]
    assert attached.life == "alive" and pathlib.Path(attached.location).is_dir()
    assert len(status.storage.filesystems) == 2
    assert juju.config("meter", app_config=True)["trust"] is True


def test_config_has_the_types_of_its_options(juju):
    assert juju.config("meter") == {"unit": "mbar", "limit": 20, "scale": 0.25, "lit": True, "mood": "active", "ports": True, "together": "all is well"}
    juju.config("meter", {"unit": "Pa", "lit": False}, reset=["limit", "scale"])
    assert juju.config("meter") == {"unit": "Pa", "limit": 10, "scale": 0.5, "lit": False, "mood": "active", "ports": True, "together": "all is well"}
    juju.config("meter", reset="unit")
    assert juju.config("meter")["unit"] == "bar"
    with pytest.raises(jubilant.CLIError, match="unknown option"):
        juju.config("meter", {"colour": "red"})


def test_trust_is_given_and_taken(juju):
    juju.trust("meter", remove=True)
    assert juju.config("meter", app_config=True)["trust"] is False
    juju.trust("meter", scope="cluster")
    assert juju.config("meter", app_config=True)["trust"] is True


def test_units_are_added_where_they_are_told_to(juju, settle):
    there = juju.status().apps["meter"].units["meter/0"].machine
    juju.add_unit("meter", num_units=2)
    juju.add_unit("meter", to=there)
    juju.add_unit("meter", num_units=2, to=[there, there])
    settle()
    units = juju.status().apps["meter"].units
    assert len(units) == 7
    assert [units[f"meter/{n}"].machine for n in (4, 5, 6)] == [there] * 3
    juju.deploy(CHARMS / "gauge", "beside", to=there)
    juju.deploy(CHARMS / "gauge", "besides", num_units=2, to=[there, there])
    settle()
    assert juju.status().apps["beside"].units["beside/0"].machine == there


def test_storage_outlives_its_unit_and_is_attached_to_another(juju, settle):
    juju.remove_unit("meter/5", "meter/6")
    settle()
    status = juju.status()
    assert "meter/6" not in status.apps["meter"].units
    loose = [name for name, s in status.storage.storage.items() if s.status.current == "detached"]
    assert len(loose) == 2
    juju.deploy(CHARMS / "gauge", "third", attach_storage=loose[0])
    juju.add_unit("meter", attach_storage=[loose[1]])
    settle()
    storage = juju.status().storage.storage
    assert set(storage[loose[0]].attachments.units) == {"third/0"}
    assert set(storage[loose[1]].attachments.units) == {"meter/7"}
    juju.remove_unit("meter/7", destroy_storage=True, force=True)
    juju.remove_application("third", "beside", "besides", destroy_storage=True, force=True)
    settle()
    status = juju.status()
    assert not set(loose) & set(status.storage.storage)
    assert set(status.apps) == {"meter"}


def test_a_relation_is_made_seen_and_removed(juju, settle, charm):
    juju.deploy(CHARMS / "gauge", "source")
    juju.integrate("meter:source", "source:reading")
    settle()
    status = juju.status()
    [relation] = status.apps["meter"].relations["source"]
    assert (relation.related_app, relation.interface, relation.scope) == ("source", "gauge", "global")
    with pytest.raises(jubilant.CLIError) as caught:
        juju.integrate("meter:source", "source:reading")
    assert "already exists" in caught.value.stderr
    juju.remove_relation("meter:source", "source:reading")
    settle()
    assert "source" not in juju.status().apps["meter"].relations
    juju.integrate("meter:source", "source:reading")
    juju.remove_relation("meter:source", "source:reading", force=True)
    juju.remove_application("source")
    settle()
    assert "source" not in juju.status().apps


def test_a_subordinate_is_in_its_principals_unit(juju, settle):
    juju.deploy(CHARMS / "logger")
    juju.integrate("logger", "meter")
    settle()
    status = juju.status()
    assert status.apps["logger"].subordinate_to == ["meter"]
    assert "logger/0" in status.get_units("logger")
    [beside] = status.apps["meter"].units["meter/0"].subordinates.values()
    assert beside.is_active
    juju.remove_relation("logger", "meter")
    settle()
    assert not juju.status().get_units("logger")


def test_a_charm_is_refreshed(juju, settle, charm, tmp_path):
    path = charm("gauge")
    (path / "version").write_text("2.0-second\n")
    plate = tmp_path / "plate.txt"
    plate.write_text("steel\n")
    juju.refresh(
        "meter",
        config={"unit": "hPa"},
        force=True,
        path=path,
        resources={"plate": str(plate)},
        storage={"tank": "3M"},
        trust=True,
    )
    settle()
    meter = juju.status().apps["meter"]
    assert (meter.charm, meter.version, meter.charm_version) == (f"local:gauge-{meter.charm_rev}", "2.0-second", "2.0-second")
    assert meter.charm_rev > 0
    assert juju.config("meter")["unit"] == "hPa"
    assert juju.exec('cat "$(resource-get plate)"', unit="meter/0").stdout == "steel\n"
    with pytest.raises(jubilant.CLIError, match="--path"):
        juju.refresh("meter")


def test_a_bundle_is_deployed_with_overlays(juju, settle, tmp_path):
    bundle, overlay = tmp_path / "bundle.yaml", tmp_path / "overlay.yaml"
    gauge = str(CHARMS / "gauge")
    bundle.write_text(yaml.safe_dump({
        "applications": {
            "east": {"charm": gauge, "num_units": 1},
            "west": {"charm": gauge, "num_units": 1},
        },
        "relations": [["east:source", "west:reading"]],
    }))
    overlay.write_text(yaml.safe_dump({"applications": {"east": {"options": {"unit": "knots"}}}}))
    juju.deploy(bundle, overlays=[overlay])
    settle()
    status = juju.status()
    assert status.apps["east"].relations["source"][0].related_app == "west"
    assert juju.config("east")["unit"] == "knots"
    juju.remove_application("east", "west", destroy_storage=True)
    settle()


def test_an_application_is_removed_and_nothing_is_left(juju, settle):
    juju.remove_application("meter", "logger", destroy_storage=True)
    settle()
    status = juju.status()
    assert (status.apps, status.machines, status.storage.storage) == ({}, {}, {})
