"""All of the library was used: this runs last, and looks back at what was recorded."""

from __future__ import annotations

import os

import pytest
import recorder

pytestmark = pytest.mark.skipif(os.environ.get("CLIENTS_CONTAINERS") != "1", reason="some is for charms with containers alone, which need root on Linux, and Pebble")

# Fields that unitd leaves empty, and why. A key without a field is the whole class.
EMPTY = {
    "AppStatus.can_upgrade_to": "unitd doesn't ask Charmhub by itself",
    "AppStatus.charm_profile": "there are no LXD profiles",
    "LxdProfileContents": "there are no LXD profiles",
    "MachineStatus.lxd_profiles": "there are no LXD profiles",
    "MachineStatus.containers": "a machine has no containers that are machines",
    "MachineStatus.controller_member_status": "no machine is a controller's",
    "MachineStatus.ha_primary": "no machine is a controller's",
    "MachineStatus.modification_status": "nothing modifies machines",
    "ModelStatus.upgrade_available": "a model has no agents to upgrade",
    "ModelStatusInfo.migration": "models are moved by model export and import",
    "ModelStatusInfo.migration_start": "models are moved by model export and import",
    "ModelStatusInfo.migration_end": "models are moved by model export and import",
    "VolumeInfo": "there are no block devices",
    "VolumeAttachment": "there are no block devices",
    "VolumeAttachments": "there are no block devices",
    "CombinedStorage.volumes": "there are no block devices",
    "FilesystemInfo.volume": "there are no block devices",
    "FilesystemAttachments.containers": "units of containers have their storage by unit",
    "AppStatus.life": "an application that goes is seen by chance alone",
    "RemoteAppStatus.life": "one that goes is seen by chance alone",
    "EntityStatus.message": "storage that is attached has nothing to say",
    "FilesystemAttachment": "storage is attached to units, not to machines",
    "FilesystemAttachments.machines": "storage is attached to units, not to machines",
    "FilesystemInfo.provider_id": "no provider makes storage",
    "MachineStatus.display_name": "no provider names machines",
    "MachineStatus.network_interfaces": "a host's interfaces are not listed",
    "NetworkInterface": "a host's interfaces are not listed",
    "ModelCredential": "a credential has no effect on a model",
    "ModelInfo.credential": "a credential has no effect on a model",
    "ModelStatusInfo.message": "a model that is available says nothing",
    "ModelStatusInfo.reason": "a model that is available says nothing",
    "RevealedSecret.expires": "the secret of a user has none",
    "RevealedSecret.label": "the secret of a user has a name instead",
    "RevealedSecret.revisions": "revisions are not shown with the content",
    "RevealedSecret.rotates": "the secret of a user has none",
    "RevealedSecret.rotation": "the secret of a user has none",
    "SecretBackendInfo.message": "a backend that is active says nothing",
    "StatusInfo.life": "what goes is seen by chance alone",
    "StatusInfo.reason": "no status has a reason apart from its message",
    "UnitStatus.upgrading_from": "a unit that is being upgraded is seen by chance alone",
    "UnitStorageAttachment.machine": "the unit is named, which is on the machine",
    "Version.git_commit": "a program that is built for tests doesn't know its commit",
    "Version.tag": "versions are final ones",
    "Version.build": "versions are final ones",
}

# Parameters that no call has given, and why.
NOT_GIVEN = {
    "Juju.add_machine(target)": "a place that isn't refused has no effect here",
    "Juju.add_cloud(target_controller)": "it is for JAAS alone",
}


# Methods that no test calls, and why.
NOT_CALLED: dict[str, str] = {}


def test_each_method_was_called_with_each_of_its_parameters():
    missing = {
        f"{name}({parameter})"
        for name, all_ in recorder.parameters().items()
        if name not in NOT_CALLED
        for parameter in all_ - recorder.given[name]
    }
    assert not (missing - set(NOT_GIVEN)), "call these, or list them with a reason" + ":\n" + "\n".join(sorted(missing - set(NOT_GIVEN)))
    assert not (set(NOT_GIVEN) - missing), "take these off the list" + ":\n" + "\n".join(sorted(set(NOT_GIVEN) - missing))


def test_each_function_and_method_was_called():
    assert recorder.given, "nothing was recorded"
    assert sorted(name for name, called in recorder.calls.items() if not called) == sorted(NOT_CALLED)


def test_each_field_of_each_dataclass_was_read_from_unitd():
    missing = set()
    for cls, names in recorder.fields().items():
        empty = names - recorder.filled[cls]
        if cls in EMPTY:
            assert empty == names, f"{cls} is filled: take it off the list"
            missing.add(cls)
        else:
            missing |= {f"{cls}.{name}" for name in empty}
    assert not (missing - set(EMPTY)), "have these read, or list them with a reason" + ":\n" + "\n".join(sorted(missing - set(EMPTY)))
    assert not (set(EMPTY) - missing), "take these off the list" + ":\n" + "\n".join(sorted(set(EMPTY) - missing))


def test_each_exception_was_raised():
    assert [name for name, times in recorder.raised.items() if not times] == []
