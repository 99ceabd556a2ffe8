"""What is for charms with containers alone: it takes a host that isolates units."""

from __future__ import annotations

import os

import jubilant
import pytest
from conftest import CHARMS

pytestmark = pytest.mark.skipif(os.environ.get("CLIENTS_CONTAINERS") != "1", reason="containers need root on Linux, and Pebble")


def test_a_charm_with_containers_is_driven_as_on_kubernetes(tmp_path):
    with jubilant.temp_model(cloud="microk8s") as juju:
        juju.deploy(CHARMS / "tide", num_units=2, resources={"base": "host"}, trust=True)
        status = juju.wait(jubilant.all_active, error=jubilant.any_error, delay=0.2, timeout=600)
        assert status.model.type == "caas" and juju.show_model().model_type == "caas"
        tide = status.apps["tide"]
        assert (tide.scale, set(tide.units), tide.exposed) == (2, {"tide/0", "tide/1"}, False)
        assert tide.address and tide.provider_id
        unit = tide.units["tide/0"]
        assert unit.address and unit.provider_id and not unit.machine
        info = juju.show_unit("tide/0")
        assert (info.address, info.provider_id) == (unit.address, unit.provider_id)

        assert juju.ssh("tide/0", "echo $JUJU_CONTAINER_NAME", container="web") == "web\n"
        file = tmp_path / "file"
        file.write_text("high\n")
        juju.scp(file, "tide/0:/tmp/file", container="web")
        assert juju.ssh("tide/0", "cat /tmp/file", container="web") == "high\n"
        juju.scp("tide/0:/tmp/file", tmp_path / "back", container="web")
        assert (tmp_path / "back").read_text() == "high\n"
        juju.trust("tide", scope="cluster")

        juju.remove_unit("tide", num_units=1)
        status = juju.wait(lambda s: len(s.apps["tide"].units) == 1, delay=0.2, timeout=600)
        assert status.apps["tide"].scale == 1
