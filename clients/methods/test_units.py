"""What runs in units, and what is copied to them."""

from __future__ import annotations

import pathlib

import jubilant
import pytest


@pytest.fixture(scope="module")
def unit(juju, settle):
    from conftest import CHARMS

    juju.deploy(CHARMS / "gauge", num_units=2, config={"ports": True})
    juju.deploy(CHARMS / "gauge", "well")
    juju.integrate("gauge:source", "well:reading")
    settle()
    return "gauge/0"


def test_an_action_has_results_a_log_and_a_code(juju, unit):
    task = juju.run(unit, "read", {"text": "wind", "digits": 3}, wait=600)
    assert task.results == {"text": "wind", "digits": "3", "of": {"unit": "bar"}}
    assert (task.status, task.return_code, task.stdout, task.stderr) == ("completed", 0, "out\n", "err\n")
    assert len(task.log) == 1 and task.log[0].endswith(" reading")
    assert juju.run("gauge/leader", "read").results["text"] == "nothing"


def test_an_action_that_fails_says_so(juju, unit):
    with pytest.raises(jubilant.TaskError) as caught:
        juju.run(unit, "refuse")
    assert (caught.value.task.status, caught.value.task.message) == ("failed", "it is dark")
    with pytest.raises(jubilant.TaskError) as caught:
        juju.run(unit, "break")
    assert (caught.value.task.status, caught.value.task.return_code) == ("failed", 7)
    with pytest.raises(ValueError):
        juju.run(unit, "no-such-action")
    with pytest.raises(ValueError):
        juju.run("gauge/9", "read")


def test_an_action_that_goes_on_is_waited_for_no_longer(juju, unit, tmp_path):
    with pytest.raises(TimeoutError):
        juju.run(unit, "stall", {"file": str(tmp_path / "go")}, wait=0.1)
    (tmp_path / "go").touch()
    juju.cli("wait", "--timeout", "600s")


def test_a_command_runs_in_a_unit_or_on_a_machine(juju, unit):
    task = juju.exec("echo $JUJU_UNIT_NAME", unit=unit, wait=600)
    assert (task.status, task.return_code, task.stdout) == ("completed", 0, "gauge/0\n")
    assert juju.exec("echo", "a  b", unit="gauge/leader").stdout == "a  b\n"
    machine = juju.status().apps["gauge"].units[unit].machine
    assert juju.exec("echo", "there", machine=machine).stdout == "there\n"
    assert juju.exec("config-get", "unit", unit=unit).stdout == "bar\n"


def test_a_command_that_fails_says_so(juju, unit):
    with pytest.raises(jubilant.TaskError) as caught:
        juju.exec("echo out; exit 3", unit=unit)
    assert (caught.value.task.return_code, caught.value.task.stdout) == (3, "out\n")
    with pytest.raises(ValueError):
        juju.exec("true", unit="gauge/9")
    with pytest.raises(TimeoutError):
        juju.exec("sleep 600", unit=unit, wait=0.2)


def test_ssh_runs_a_command_where_the_unit_is(juju, unit):
    assert juju.ssh(unit, "echo", "UNIT") == "UNIT\n"
    assert juju.ssh(unit, "cd / && pwd") == "/\n"
    machine = juju.status().apps["gauge"].units[unit].machine
    assert juju.ssh(int(machine), "echo", "MACHINE") == "MACHINE\n"
    options = ["-i", "/nowhere/key", "-o", "StrictHostKeyChecking=no", "-q"]
    said = juju.ssh("gauge/leader", "echo there", container="gauge", host_key_checks=False, ssh_options=options)
    assert said == "there\n"
    assert juju.ssh(unit, "echo", "me", user="ubuntu") == "me\n"
    with pytest.raises(jubilant.CLIError) as caught:
        juju.ssh(unit, "echo out; echo wrong >&2; exit 5")
    assert (caught.value.returncode, caught.value.stdout, caught.value.stderr) == (5, "out\n", "wrong\n")


def test_scp_copies_files_and_directories_both_ways(juju, unit, tmp_path: pathlib.Path):
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "below" / "leaf").write_text("green\n")
    away = tmp_path / "away"
    juju.scp(tree, f"{unit}:{away}", scp_options=["-r", "-i", "/nowhere/key"], host_key_checks=False)
    juju.scp(f"ubuntu@{unit}:{away}", tmp_path / "back", scp_options=["-r"])
    assert (tmp_path / "back" / "below" / "leaf").read_text() == "green\n"
    juju.scp(tree / "below" / "leaf", f"{unit}:{tmp_path}/one", container="gauge")
    assert juju.ssh(unit, f"cat {tmp_path}/one") == "green\n"
    with pytest.raises(jubilant.CLIError):
        juju.scp(f"{unit}:/no/such/file", tmp_path / "nothing")


def test_a_unit_shows_what_it_has_and_what_it_is_told(juju, unit):
    info = juju.show_unit(unit)
    assert (info.charm, info.leader, info.life) == ("local:gauge-0", True, "alive")
    assert info.opened_ports == ["8080/tcp", "9000-9010/udp"]
    assert info.workload_version == "1.0-first"
    assert info.machine == juju.status().apps["gauge"].units[unit].machine
    assert info.public_address
    [source] = [r for r in info.relation_info if r.endpoint == "source"]
    assert (source.related_endpoint, source.cross_model) == ("reading", False)
    assert source.app_data == {"unit": "bar"}
    assert source.related_units["well/0"].data["unit"] == "well/0"
    assert source.related_units["well/0"].in_scope
    assert source.local_unit.in_scope and source.local_unit.data
    assert source.relation_id >= 0
