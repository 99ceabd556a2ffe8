#!/usr/bin/env python3
"""A charm with storage that its container sees too, in which nobody is root."""

import logging
import os
import pathlib
import secrets

import ops

logger = logging.getLogger(__name__)

SERVICE = "store"
PORT = 8080
NAME = "index.html"
MOUNTS = ("/data", "/srv/export")  # as in charmcraft.yaml


class StorerCharm(ops.CharmBase):
    """Has a server run on storage, and gives access to it."""

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        self.container = self.unit.get_container("store")
        db = self.on["db"]
        for event in (
            self.on.data_storage_attached,
            self.on.store_pebble_ready,
            self.on.config_changed,
            db.relation_joined,
            db.relation_changed,
        ):
            framework.observe(event, self._on_change)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)
        framework.observe(self.on.whoami_action, self._on_whoami)

    def _folder(self) -> pathlib.Path | None:
        """Return where the storage is in the charm container, if it is there already."""
        for storage in self.model.storages["data"]:
            return pathlib.Path(storage.location)
        return None

    def _on_change(self, _: ops.EventBase):
        folder = self._folder()
        if folder is None:  # storage-attached will come
            return
        # Not by Pebble: this works while the container is away too.
        page = folder / NAME
        page.write_text(f"the {self.config['title']} of {self.unit.name}\n")
        page.chmod(0o664)
        self.unit.set_ports(PORT)
        for relation in self.model.relations["db"]:
            self._publish(relation)
        if self.container.can_connect():
            try:
                self._set_up()
            except ops.pebble.ConnectionError:
                logger.warning("the container went away; it is set up when it is back")

    def _set_up(self):
        layer: ops.pebble.LayerDict = {
            "services": {
                SERVICE: {
                    "override": "replace",
                    # As the container's user: Pebble has no other to give.
                    "command": f"/web -listen :{PORT} -file {MOUNTS[0]}/{NAME}",
                    "startup": "enabled",
                },
            },
        }
        self.container.add_layer("storer", layer, combine=True)
        self.container.replan()

    def _publish(self, relation: ops.Relation):
        """Tell the application at the other end how to come in."""
        if relation.app is None or not relation.active:
            return
        binding = self.model.get_binding(relation)
        if binding is None or not binding.network.ingress_addresses:
            return  # there is no address yet; config-changed will come
        ours = relation.data[self.unit]
        ours.update({
            "host": str(binding.network.ingress_addresses[0]),
            "port": str(PORT),
            "user": relation.app.name,
            "password": ours.get("password") or secrets.token_hex(16),  # made once
            "title": str(self.config["title"]),
        })

    def _on_collect_status(self, event: ops.CollectStatusEvent):
        if self._folder() is None:
            event.add_status(ops.WaitingStatus("waiting for the storage data"))
        event.add_status(self._server_status())

    def _server_status(self) -> ops.StatusBase:
        waiting = ops.WaitingStatus("waiting for Pebble in the container store")
        if not self.container.can_connect():
            return waiting
        try:
            service = self.container.get_services(SERVICE).get(SERVICE)
            missing = [m for m in MOUNTS if not self.container.exists(f"{m}/{NAME}")]
        except ops.pebble.ConnectionError:
            return waiting
        if service is None:
            return ops.MaintenanceStatus("setting up the store")
        if missing:
            return ops.BlockedStatus(f"the storage isn't seen at {', '.join(missing)}")
        if not service.is_running():
            return ops.BlockedStatus("the store doesn't run: see its logs")
        return ops.ActiveStatus(f"{len(self.model.relations['db'])} consumers")

    def _on_whoami(self, event: ops.ActionEvent):
        results = {"charm": f"{os.getuid()}:{os.getgid()}"}
        folder = self._folder()
        if folder is not None and (folder / NAME).exists():
            at = (folder / NAME).stat()
            results["file"] = f"{at.st_uid}:{at.st_gid}"
        if self.container.can_connect():
            # What is made by way of Pebble is its user's, who is the container's.
            self.container.push(f"{MOUNTS[0]}/stamp", "")
            stamp = self.container.list_files(f"{MOUNTS[1]}/stamp")[0]
            results["workload"] = f"{stamp.user_id}:{stamp.group_id}"
        event.set_results(results)


if __name__ == "__main__":
    ops.main(StorerCharm)
