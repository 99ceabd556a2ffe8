"""Fixtures of the tests of Jubilant's methods."""

from __future__ import annotations

import os
import pathlib
import shutil

import jubilant
import pytest
import recorder

recorder.start()

CHARMS = pathlib.Path(os.environ["CLIENTS_CHARMS"])


@pytest.fixture
def charm(tmp_path: pathlib.Path):
    """A copy of a charm, which a test may change."""

    def copy(name: str) -> pathlib.Path:
        return pathlib.Path(shutil.copytree(CHARMS / name, tmp_path / name, symlinks=True))

    return copy


@pytest.fixture(scope="module")
def juju():
    """A model of this module's own."""
    with jubilant.temp_model(config={"update-status-hook-interval": "1h"}) as juju:
        juju.wait_timeout = 600
        yield juju


@pytest.fixture(scope="module")
def settle(juju: jubilant.Juju):
    """Wait until there is nothing left to do in the module's model."""
    return lambda: juju.cli("wait", "--timeout", "600s")
