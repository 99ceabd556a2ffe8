"""Charms by name, from a directory that stands for Charmhub."""

from __future__ import annotations

import pathlib
import zipfile

import jubilant
from conftest import CHARMS

MANIFEST = "bases:\n- {name: ubuntu, channel: '24.04', architectures: [amd64, arm64]}\n"


def release(hub: pathlib.Path, name: str, plate: str) -> None:
    with zipfile.ZipFile(hub / name, "w") as charm:
        for path in sorted((CHARMS / "gauge").iterdir()):
            charm.write(path, path.name)
        charm.writestr("manifest.yaml", MANIFEST)
    (hub / f"gauge.plate_r{plate}.txt").write_text("brass\n")


def test_a_charm_is_deployed_by_name_and_follows_its_channel(tmp_path):
    hub = tmp_path / "hub"
    hub.mkdir()
    release(hub, "gauge_r4.charm", "1")
    release(hub, "gauge_r5_edge.charm", "2")
    with jubilant.temp_model(config={"charmhub-url": str(hub)}) as juju:
        juju.deploy("gauge", channel="latest/stable", revision=4, base="ubuntu@24.04")
        gauge = juju.wait(jubilant.all_active, delay=0.1).apps["gauge"]
        assert (gauge.charm, gauge.charm_name, gauge.charm_rev) == ("gauge", "gauge", 4)
        assert (gauge.charm_origin, gauge.charm_channel) == ("charmhub", "latest/stable")
        juju.refresh("gauge", channel="latest/edge")
        juju.cli("wait", "--timeout", "600s")
        gauge = juju.wait(jubilant.all_active, delay=0.1).apps["gauge"]
        assert (gauge.charm_rev, gauge.charm_channel) == (5, "latest/edge")
        juju.refresh("gauge", revision=4, base="ubuntu@24.04")
        juju.cli("wait", "--timeout", "600s")
        assert juju.status().apps["gauge"].charm_rev == 4
