"""Models: made, named, configured, watched, destroyed."""

from __future__ import annotations

import datetime
import subprocess
import sys

import jubilant
import pytest


def test_a_model_of_any_reference_is_the_same(juju):
    other = jubilant.Juju()
    other.add_model(
        "quay",
        "local",
        controller="unitd",
        config={"update-status-hook-interval": "10m", "development": True},
    )
    assert other.model == "unitd:quay"
    try:
        for ref in ("quay", "admin/quay", "unitd:quay", "unitd:admin/quay"):
            assert jubilant.Juju(model=ref).status().model.name == "quay"
        settings = other.model_config()
        assert settings["update-status-hook-interval"] == "10m"
        assert settings["development"] is True
    finally:
        other.destroy_model("admin/quay", destroy_storage=True)
    assert other.model is None
    with pytest.raises(jubilant.CLIError, match="quay not found"):
        jubilant.Juju(model="quay").status()


def test_a_model_is_named_once(juju):
    name = juju.show_model().short_name
    with pytest.raises(jubilant.CLIError) as caught:
        jubilant.Juju().add_model(name)
    assert "already exists" in caught.value.stderr


@pytest.mark.parametrize("how", [{"release_storage": True}, {"force": True, "no_wait": True, "timeout": 30}])
def test_a_model_is_destroyed_in_any_way(how):
    other = jubilant.Juju()
    other.add_model("pier")
    other.destroy_model("pier", **how)
    assert other.model is None


def test_a_temporary_model_is_gone_afterwards(juju):
    with jubilant.temp_model(controller="unitd", cloud="local", config={"test-mode": True}) as other:
        name = other.show_model().short_name
        assert other.model_config()["test-mode"] is True
    assert name not in juju.cli("models", "--format", "json", include_model=False)
    with jubilant.temp_model(keep=True) as kept:
        name = kept.show_model().short_name
    kept.destroy_model(name, force=True)


def test_a_model_says_what_it_is(juju):
    info = juju.show_model()
    assert juju.show_model(f"unitd:admin/{info.short_name}").model_uuid == info.model_uuid
    assert info.name == f"admin/{info.short_name}"
    assert (info.model_type, info.controller_name, info.life, info.is_controller) == ("iaas", "unitd", "alive", False)
    assert len(info.model_uuid) == len(info.controller_uuid) == 36
    assert info.status.current == "available"
    assert info.users["admin"].access == "admin"
    assert info.agent_version.startswith("3.6.")
    assert info.type != "kubernetes"
    status = juju.status()
    assert (status.model.name, status.model.type, status.model.controller) == (info.short_name, "iaas", "unitd")
    assert (status.model.cloud, status.model.region, status.model.version) == (info.cloud, info.region, info.agent_version)
    assert status.controller.timestamp


def test_model_config_is_set_and_reset(juju):
    assert juju.model_config()["automatically-retry-hooks"] is True
    juju.model_config({"automatically-retry-hooks": False, "logging-config": "<root>=DEBUG"})
    got = juju.model_config()
    assert (got["automatically-retry-hooks"], got["logging-config"]) == (False, "<root>=DEBUG")
    juju.model_config(reset="logging-config")
    juju.model_config({"update-status-hook-interval": "30s"}, reset=["automatically-retry-hooks"])
    got = juju.model_config()
    assert (got["automatically-retry-hooks"], got["update-status-hook-interval"]) == (True, "30s")


def test_model_constraints_are_what_was_set_last(juju):
    assert juju.model_constraints() == {}
    juju.model_constraints({"mem": "1G", "cores": 4})
    assert juju.model_constraints() == {"mem": 1024, "cores": 4}
    juju.model_constraints({"allocate-public-ip": True})
    assert juju.model_constraints() == {"allocate-public-ip": True}


def test_a_version_is_one_of_juju_3_6(juju):
    version = juju.version()
    assert version.tuple[:2] == (3, 6)
    assert str(version) == juju.cli("version", include_model=False).strip()


def test_a_command_reads_and_fails_as_it_does(juju):
    assert juju.cli("model-config", "update-status-hook-interval", stdin="").strip()
    with pytest.raises(jubilant.CLIError) as caught:
        juju.cli("no-such-thing", include_model=False, stdin="")
    assert caught.value.returncode in (1, 2) and "ERROR" in caught.value.stderr
    with pytest.raises(jubilant.CLIError) as caught:
        juju.config("nobody")
    assert caught.value.returncode == 1
    assert 'application "nobody" not found (not found)' in caught.value.stderr


def test_a_wait_is_for_what_it_is_told(juju, charm):
    juju.deploy(charm("gauge"), "waited")
    status = juju.wait(jubilant.all_active, error=jubilant.any_error, delay=0.1, timeout=600, successes=2)
    assert jubilant.all_agents_idle(juju.wait(jubilant.all_agents_idle, delay=0.1), "waited")
    since = status.apps["waited"].units["waited/0"].workload_status.since
    assert datetime.datetime.strptime(since, "%d %b %Y %H:%M:%S%z")
    with pytest.raises(jubilant.WaitError):
        juju.wait(jubilant.any_waiting, error=jubilant.any_active, delay=0.1)
    with pytest.raises(TimeoutError):
        juju.wait(jubilant.any_blocked, delay=0.1, timeout=0.3)
    for mood, every, some in (
        ("blocked", jubilant.all_blocked, jubilant.any_blocked),
        ("waiting", jubilant.all_waiting, jubilant.any_waiting),
        ("maintenance", jubilant.all_maintenance, jubilant.any_maintenance),
        ("active", jubilant.all_active, jubilant.any_active),
    ):
        juju.config("waited", {"mood": mood})
        assert some(juju.wait(lambda s: every(s, "waited"), delay=0.1, successes=1), "waited")
    juju.model_config({"automatically-retry-hooks": False})
    juju.config("waited", {"mood": "fail"})
    status = juju.wait(jubilant.any_error, delay=0.1, successes=1)
    assert jubilant.all_error(status, "waited") and jubilant.any_error(status, "waited")
    unit = status.apps["waited"].units["waited/0"]
    assert unit.workload_status.message == 'hook failed: "config-changed"'
    assert "config-changed" in juju.debug_log()
    assert len(juju.debug_log(limit=2).splitlines()) == 2
    juju.config("waited", {"mood": "active"})
    juju.cli("resolved", "waited/0")
    juju.model_config(reset="automatically-retry-hooks")
    juju.wait(jubilant.all_active, delay=0.1)


def test_jubilants_own_command_waits(juju):
    command = [sys.executable, "-m", "jubilant._main", "wait", "--model", juju.model, "--delay", "0.1"]
    done = subprocess.run([*command, "jubilant.all_active(status)"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
