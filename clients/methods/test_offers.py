"""Applications of one model that are used from another."""

from __future__ import annotations

import jubilant
import pytest
from conftest import CHARMS


@pytest.fixture(scope="module")
def shore(juju):
    """The model that has what is offered."""
    with jubilant.temp_model() as shore:
        shore.deploy(CHARMS / "gauge", "well")
        yield shore


def test_an_offer_is_made_consumed_related_and_left(juju, shore, settle):
    model = shore.show_model().short_name
    shore.offer("well", endpoint="reading", name="wells")
    shore.offer(f"{model}.well", endpoint=["reading", "source"], name="both", controller="unitd")
    juju.consume(f"{model}.wells", "deep", controller="unitd", owner="admin")
    juju.consume(f"{model}.both")
    juju.deploy(CHARMS / "gauge", "reader")
    juju.integrate("reader:source", "deep", via=["192.0.2.0/24", "198.51.100.0/24"])
    settle()
    shore.cli("wait", "--timeout", "600s")

    status = juju.status()
    remote = status.app_endpoints["deep"]
    assert remote.url == f"unitd:admin/{model}.wells" or remote.url == f"admin/{model}.wells"
    assert (remote.endpoints["reading"].interface, remote.endpoints["reading"].role) == ("gauge", "provider")
    assert remote.relations == {"reading": ["reader"]}
    assert remote.app_status.current == "active"
    assert status.apps["reader"].relations["source"][0].related_app == "deep"
    [told] = [r for r in juju.show_unit("reader/0").relation_info if r.endpoint == "source"]
    assert told.cross_model
    assert told.app_data == {"unit": "bar"}

    offer = shore.status().offers["wells"]
    assert (offer.app, offer.endpoints["reading"].role, offer.charm) == ("well", "provider", "local:gauge-0")
    assert (offer.total_connected_count, offer.active_connected_count) == (1, 1)

    juju.remove_relation("reader:source", "deep")
    settle()
    juju.cli("remove-saas", "deep", "both")
    settle()
    assert juju.status().app_endpoints == {}
    shore.cli("remove-offer", f"admin/{model}.wells", f"admin/{model}.both", "-y", include_model=False)
    assert shore.status().offers == {}
