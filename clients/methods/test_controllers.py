"""Controllers, keys and machines."""

from __future__ import annotations

import base64
import json

import jubilant
import pytest

# A key of 32 bytes that nobody has the other half of.
KEY = "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(32))).decode()


def test_a_controller_is_bootstrapped_and_has_models(juju):
    juju.bootstrap(
        "local",
        "spare",
        bootstrap_base="ubuntu@24.04",
        bootstrap_constraints={"mem": "1G"},
        config={"auditing-enabled": False},
        constraints={"cores": 1},
        metadata_source="/nowhere",
        force=True,
        model_defaults={"update-status-hook-interval": "2h"},
        storage_pool={"name": "fast", "type": "rootfs"},
        to="zone=quay",
    )
    try:
        known = json.loads(juju.cli("controllers", "--format", "json", include_model=False))
        assert {"unitd", "spare"} <= set(known["controllers"])
        assert known["current-controller"] == "unitd"
        other = jubilant.Juju()
        other.add_model("far", controller="spare")
        assert other.model == "spare:far"
        info = other.show_model()
        assert info.controller_name == "spare"
        assert info.controller_uuid == known["controllers"]["spare"]["uuid"]
        assert other.status().model.controller == "spare"
        assert other.model_config()["update-status-hook-interval"] == "2h"
        other.destroy_model("spare:far", force=True)
    finally:
        juju.cli("destroy-controller", "spare", "--no-prompt", "--destroy-all-models", include_model=False)


def test_keys_are_recorded_and_removed(juju):
    juju.add_ssh_key(f"{KEY} hand@pier")
    assert "hand@pier" in juju.cli("ssh-keys")
    juju.add_ssh_key(f"{KEY} hand@pier", "no key at all")
    juju.remove_ssh_key("hand@pier")
    assert "hand@pier" not in juju.cli("ssh-keys")
    juju.add_ssh_key(f"{KEY} hand@pier")
    juju.remove_ssh_key(f"{KEY} hand@pier")
    assert "hand@pier" not in juju.cli("ssh-keys")


def test_machines_are_added(juju, tmp_path):
    before = set(juju.status().machines)
    juju.add_machine(base="ubuntu@24.04", constraints={"cores": 1, "mem": "64M"}, disks="rootfs,1M,1")
    [first] = set(juju.status().machines) - before
    machine = juju.wait(lambda s: s.machines[first].juju_status.current == "started", delay=0.1).machines[first]
    assert (machine.base.name, machine.base.channel) == ("ubuntu", "24.04")
    assert machine.constraints == "cores=1 mem=64M"
    key, public = tmp_path / "key", tmp_path / "key.pub"
    key.write_text("")
    public.write_text(KEY)
    juju.add_machine(num_machines=2, disks=["rootfs,1M", "rootfs,2M"], private_key=key, public_key=public)
    assert len(set(juju.status().machines) - before) == 3
    with pytest.raises(jubilant.CLIError):
        juju.add_machine("lxd")
    for name in set(juju.status().machines) - before:
        juju.cli("remove-machine", name, "--no-prompt", "--force")
