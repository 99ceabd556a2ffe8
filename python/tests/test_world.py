"""What a test can do in a world: each with the real agent, and a charm that is a real one."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from unitd import CommandError, Fault, MisuseError, Status, World, faults


@pytest.fixture
def world(unitd: World, shop: Path) -> World:
    """A shop with a database that the test plays, which hasn't spoken yet."""
    unitd.clock.stop()
    unitd.deploy(shop)
    unitd.stub("pg", "db:ledgerdb")
    unitd.integrate("shop", "pg")
    unitd.settle()
    return unitd


def test_hooks_databags_and_statuses(world: World) -> None:
    assert world.hooks("shop/0")[-3:] == ["start", "db-relation-joined(pg/0)", "db-relation-changed(pg/0)"]
    assert world.status("shop") == world.status("shop/0") == Status("waiting", "waiting for the database's credentials")
    world.do("stub-set", "pg/0", "greeting=a\nb")
    assert world.databag("shop/0", "db", "pg/0")["greeting"] == "a\nb"
    assert "ingress-address" in world.databag("shop/0", "db")
    assert world.databag("pg/0", "db", "shop") == {}
    world.settle()
    assert world.hooks("shop/0")[-2:] == ["db-relation-changed(pg/0)"] * 2


def test_the_databag_of_an_application_without_units(world: World) -> None:
    world.do("stub-set", "--app", "pg", "version=14", "greeting=a\nb")
    world.do("stub-leave", "pg/0")
    world.settle()
    assert world.databag("shop/0", "db", "pg") == {"version": "14", "greeting": "a\nb"}
    with pytest.raises(CommandError, match='in no relation by "db" with "nix"'):
        world.databag("shop/0", "db", "nix")


def test_mistakes_say_what_is_wrong(world: World) -> None:
    with pytest.raises(MisuseError, match='there is no unit "shop/7"; there are .*shop/0'):
        world.hooks("shop/7")
    with pytest.raises(MisuseError, match='shop has no endpoint "nix"'):
        world.databag("shop/0", "nix")
    with pytest.raises(MisuseError, match="clock.stop"):
        world.clock.go()
        world.run_hooks(1)
    with pytest.raises(MisuseError, match="there is no unit 'shop/9'; there are pg/0, shop/0"):
        world.status("shop/9")
    with pytest.raises(CommandError, match="nix"):
        world.deploy("./nix")


def test_time_stands_still_until_it_is_advanced(world: World) -> None:
    began = world.clock.now
    world.fail("shop/0", "config-changed", 2)
    world.config("shop", {"currency": "SEK"})
    with pytest.raises(CommandError, match='hook failed: "config-changed"'):
        world.settle()
    assert world.status("shop/0") == Status("error", 'hook failed: "config-changed"')
    assert world.clock.now == began
    world.clock.advance("1m")
    assert (world.clock.now - began).total_seconds() == 60
    world.settle()
    assert world.hooks("shop/0")[-3:] == ["config-changed=failed", "config-changed=failed", "config-changed"]


def test_a_snapshot_is_restored_any_number_of_times(world: World) -> None:
    kept = world.snapshot()
    before, now = world.hooks("shop/0"), world.clock.now
    for _ in range(2):
        world.clock.advance("10m")
        assert len(world.hooks("shop/0")) > len(before)
        assert world.clock.now - now == timedelta(minutes=10)
        kept.restore()
        assert world.hooks("shop/0") == before


@pytest.mark.parametrize("fault", faults("shop/0", "config-changed"), ids=str)
def test_a_hook_that_is_struck_runs_again(world: World, fault: Fault) -> None:
    fault.arm(world)
    world.config("shop", {"currency": "SEK"})
    with pytest.raises(CommandError):
        world.settle()
    world.recover()
    assert world.hooks("shop/0")[-1] == "config-changed"
    assert world.status("shop/0").status != "error"


@pytest.mark.parametrize("fault", faults("shop/0", "install"), ids=str)
def test_a_fault_that_never_happens_is_told(world: World, fault: Fault) -> None:
    fault.arm(world)
    world.settle(errors="ignore")
    with pytest.raises(CommandError, match=r"shop/0 install has never happened"):
        world.recover()
    world.release("shop/0")
    world.recover()


def test_what_second_runs_find_is_told_at_the_end_of_the_context(unitd: World, tmp_path: Path) -> None:
    unitd.clock.stop()
    (tmp_path / "hooks").mkdir()
    (tmp_path / "metadata.yaml").write_text("name: app\n")
    (tmp_path / "hooks" / "start").write_text("#!/bin/sh\nmkdir made-once\n")
    (tmp_path / "hooks" / "start").chmod(0o755)
    with pytest.raises(CommandError, match="start, run a second time"), unitd.twice():
        unitd.deploy(tmp_path)
        unitd.clock.advance("1m")
    with pytest.raises(ZeroDivisionError), unitd.twice():
        _ = 1 / 0
    unitd.settle()


def test_what_a_stub_is_to_say_is_there_for_relations_from_outside(unitd: World, shop: Path) -> None:
    env = {**unitd.environment, "PATH": "/usr/bin:/bin"}
    unitd.deploy(shop)
    unitd.stub("pg", "db:ledgerdb").set_app({"host": "x"})
    subprocess.run([unitd.bin / "juju", "integrate", "shop", "pg"], check=True, env=env, capture_output=True)
    shown = b""
    while b"host: x" not in shown:  # nothing here is a command of the world
        shown = subprocess.run([unitd.bin / "juju", "show-unit", "shop/0"], check=True, env=env, capture_output=True).stdout


def test_what_a_command_has_printed_is_claimed_and_captured(world: World) -> None:
    world.do("status", "--format", "json")
    world.do("json", "$.applications.shop")
    world.do("has", "pg/0")
    with pytest.raises(CommandError, match="there is nothing at"):
        world.do("json", "$.applications.nix")


def test_real_time_goes_on_by_itself(unitd: World, shop: Path) -> None:
    assert unitd.clock.real
    env = {**unitd.environment, "PATH": "/usr/bin:/bin"}
    juju = unitd.bin / "juju"
    subprocess.run([juju, "deploy", shop], check=True, env=env, capture_output=True)
    # Nothing here lets the agent go on: it does so by itself.
    subprocess.run([juju, "wait", "--timeout", "2m"], check=True, env=env, capture_output=True)
    assert "start" in unitd.hooks("shop/0")
    now = unitd.clock.now
    unitd.clock.advance("1h")
    assert (unitd.clock.now - now).total_seconds() >= 3600
    said = subprocess.run([juju, "show-status-log", "shop/0", "--utc"], env=env, capture_output=True, text=True, check=True).stdout
    assert "start" in said


@pytest.mark.parametrize("real", [True, False], ids=["real", "still"])
def test_actions_and_commands(unitd: World, shop: Path, ledger: Path, real: bool) -> None:
    if not real:
        unitd.clock.stop()
    unitd.deploy(shop)
    unitd.settle()
    with pytest.raises(CommandError, match="no database"):
        unitd.run("shop/0", "place-order", {"item": "tea"})
    unitd.deploy(ledger, num_units=1, config={"port": 5433})
    unitd.integrate("shop", "ledger")
    unitd.settle()
    results = unitd.run("shop/0", "place-order", {"item": "tea", "quantity": 2})
    assert results["order"] == {"item": "tea", "quantity": "2"}
    assert results["database"] == "ledger/0"
    assert unitd.run("shop/0", "place-order", {"item": "12345"})["order"]["item"] == "12345"
    assert unitd.run("shop/0", "place-order", {"item": 'a: "b"\n\u2028🍵'})["order"]["item"] == 'a: "b"\n\u2028🍵'
    assert unitd.exec("ledger/0", "config-get", "port").strip() == "5433"
    with pytest.raises(MisuseError, match='shop has no action "dance"'):
        unitd.run("shop/0", "dance")


def test_a_stub_is_a_principal(world: World, tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text(
        "name: logger\nsubordinate: true\nrequires: {host: {interface: juju-info, scope: container}}\n"
    )
    world.do("deploy", str(tmp_path))
    world.stub("web", principal=True)
    world.integrate("logger", "web")
    world.settle()
    assert list(world.status_json()["applications"]["web"]["units"]["web/0"]["subordinates"]) == ["logger/0"]


def test_a_stub_is_played(world: World) -> None:
    stub = world.stub("mail", "smtp:smtp")
    stub.set({"host": "x"})  # for its first relation
    stub.join()
    assert "mail/1" in world.status_json()["applications"]["mail"]["units"]
    world.settle()
    stub.leave("mail/1")
    world.settle()
    assert list(world.status_json()["applications"]["mail"]["units"]) == ["mail/0"]
