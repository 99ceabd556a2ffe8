"""Secrets of users and of charms."""

from __future__ import annotations

import jubilant
import pytest


@pytest.fixture(scope="module")
def gauge(juju, settle):
    from conftest import CHARMS

    juju.deploy(CHARMS / "gauge", num_units=2)
    settle()
    return "gauge"


def test_a_users_secret_is_kept_granted_and_forgotten(juju, gauge, settle):
    uri = juju.add_secret("lamp", {"word": "first"}, info="of the pier")
    assert len(uri.unique_identifier) == 20
    found = [s for s in juju.secrets() if s.uri == uri]
    assert [(s.name, s.revision, s.description, s.created == s.updated) for s in found] == [("lamp", 1, "of the pier", True)]

    juju.grant_secret(uri, gauge)
    juju.grant_secret("lamp", [gauge])
    juju.config(gauge, {"token": uri})
    settle()
    assert juju.config(gauge)["token"] == uri
    assert isinstance(juju.config(gauge)["token"], jubilant.SecretURI)
    assert juju.exec("cat", "token", unit="gauge/0").stdout.strip() == "first"
    shown = juju.show_secret("lamp")
    assert [(a.target, a.scope, a.role) for a in shown.access] == [("application-gauge", f"model-{juju.show_model().model_uuid}", "view")] or shown.access

    juju.update_secret(uri, {"word": "second"}, info="of the quay", name="lantern", auto_prune=True)
    revealed = juju.show_secret("lantern", reveal=True)
    assert revealed.content == {"word": "second"}
    assert (revealed.revision, revealed.description, len(revealed.checksum)) == (2, "of the quay", 64)
    assert juju.show_secret(uri, reveal=True, revision=1).content == {"word": "first"}
    shown = juju.show_secret(uri, revisions=True)
    assert [r.revision for r in shown.revisions] == [1, 2]
    assert all(r.backend == "internal" for r in shown.revisions)

    juju.update_secret(uri, {"word": "third"})
    juju.config(gauge, reset="token")
    settle()
    juju.remove_secret(uri, revision=2)
    assert [r.revision for r in juju.show_secret(uri, revisions=True).revisions] == [1, 3]
    juju.remove_secret("lantern")
    assert uri not in [s.uri for s in juju.secrets()]


def test_a_charms_secret_belongs_to_its_application(juju, gauge):
    [seal] = juju.secrets(owner="gauge")
    assert (seal.owner, seal.label, seal.description) == ("gauge", "seal", "of the gauge")
    assert seal.rotation == "monthly" and seal.rotates > seal.created
    assert seal.expires == "2040-01-02T03:04:05Z"
    [revision] = juju.show_secret(seal.uri, revisions=True).revisions
    assert revision.expires.year == 2040
