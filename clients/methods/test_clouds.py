"""Clouds and credentials: recorded, and shown again."""

from __future__ import annotations

import json

import jubilant
import pytest
import yaml

CLOUD = "https://pier.example:5000/v3"
KEYS = {"credentials": {"aws": {"hands": {"auth-type": "access-key", "access-key": "AK-shown", "secret-key": "SK-hidden"}}}}


def cloud(name: str, endpoint: str) -> dict:
    return {"clouds": {name: {"type": "openstack", "auth-types": ["userpass"], "endpoint": endpoint}}}


@pytest.mark.parametrize("where", [{"client": True}, {"controller": "unitd"}])
def test_a_cloud_is_recorded_updated_and_removed(juju, tmp_path, where):
    flags = ["--client"] if "client" in where else ["--controller", "unitd"]

    def show() -> str:
        return juju.cli("show-cloud", *flags, "harbourstack", include_model=False)

    juju.add_cloud("harbourstack", cloud("harbourstack", CLOUD), force=True, **where)
    assert CLOUD in show()
    path = tmp_path / "cloud.yaml"
    path.write_text(yaml.safe_dump(cloud("harbourstack", CLOUD + "/new")))
    juju.update_cloud("harbourstack", path, **where)
    assert CLOUD + "/new" in show()
    juju.update_cloud("harbourstack", cloud("harbourstack", CLOUD), **where)
    juju.cli("remove-cloud", *flags, "harbourstack", include_model=False)


def test_a_credential_is_recorded_without_showing_its_secrets(juju, tmp_path):
    path = tmp_path / "credential.yaml"
    path.write_text(yaml.safe_dump(KEYS))
    juju.add_credential("aws", path, region="eu-west-1", client=True)
    juju.add_credential("aws", KEYS, controller="unitd")
    shown = juju.cli("credentials", "--client", "--format", "json", include_model=False)
    known = json.loads(shown)["client-credentials"]["aws"]["cloud-credentials"]
    assert known["hands"]["details"]["access-key"] == "AK-shown"
    assert "SK-hidden" not in shown


def test_a_cloud_is_recorded_with_a_credential(juju):
    juju.add_cloud("isle", cloud("isle", CLOUD), client=True, credential="hands")
    juju.cli("remove-cloud", "--client", "isle", include_model=False)


def test_models_and_controllers_are_made_with_a_credential(juju):
    with jubilant.temp_model(cloud="aws", credential="hands") as other:
        assert other.status().apps == {}
    juju.bootstrap("local", "second", credential="hands", to=["zone=a"])
    juju.cli("destroy-controller", "second", "--no-prompt", "--destroy-all-models", include_model=False)
