#!/usr/bin/env python3
"""A charm that patches what Kubernetes has of its application."""

import logging

import ops

from cluster import Cluster, ClusterError

logger = logging.getLogger(__name__)

CONTAINER = SERVICE = "app"
PAGE = "/srv/index.html"


class KubyCharm(ops.CharmBase):
    """Runs a web server, with a Service and a limit of its own choice."""

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        self.container = self.unit.get_container(CONTAINER)
        self.cluster = Cluster(self.model.name, self.app.name)
        self._problem = ""
        # The Service is Juju's own again after an upgrade.
        framework.observe(self.on.install, self._on_patch)
        framework.observe(self.on.upgrade_charm, self._on_patch)
        # Of the first hooks the last: what it finds is the unit's first status.
        framework.observe(self.on.start, self._on_patch)
        framework.observe(self.on.config_changed, self._on_config_changed)
        framework.observe(self.on.update_status, self._on_patch)
        framework.observe(self.on.app_pebble_ready, self._on_app_pebble_ready)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)
        framework.observe(self.on.show_action, self._on_show)

    def _on_config_changed(self, event: ops.EventBase):
        self._set_up()
        self._on_patch(event)

    def _on_app_pebble_ready(self, event: ops.EventBase):
        self._set_up()
        self._on_patch(event)

    def _on_patch(self, _: ops.EventBase):
        try:
            self.cluster.set_service_port(int(self.config["port"]))
            # Last, as it may make this unit anew.
            self.cluster.set_memory_limit(CONTAINER, str(self.config["memory-limit"]))
        except ClusterError as e:
            # The server does without. The charm tries again with the next hook,
            # at the latest with update-status.
            logger.warning("%s", e)
            self._problem = str(e)

    def _set_up(self):
        if not self.container.can_connect():
            return
        layer: ops.pebble.LayerDict = {
            "services": {
                SERVICE: {
                    "override": "replace",
                    "command": f"/web -listen :{self.config['port']} -file {PAGE}",
                    "startup": "enabled",
                },
            },
        }
        try:
            self.container.push(PAGE, f"{self.unit.name} in {self.model.name}\n", make_dirs=True)
            self.container.add_layer("kuby", layer, combine=True)
            self.container.replan()
        except ops.pebble.ConnectionError:
            logger.warning("the container went away; it is set up when it is back")

    def _on_collect_status(self, event: ops.CollectStatusEvent):
        if self._problem:
            event.add_status(ops.BlockedStatus(self._problem))
        event.add_status(self._server_status())

    def _server_status(self) -> ops.StatusBase:
        waiting = ops.WaitingStatus(f"waiting for Pebble in the container {CONTAINER}")
        if not self.container.can_connect():
            return waiting
        try:
            service = self.container.get_services(SERVICE).get(SERVICE)
        except ops.pebble.ConnectionError:
            return waiting
        if service is None:
            return ops.MaintenanceStatus("setting up the server")
        if not service.is_running():
            return ops.BlockedStatus("the server doesn't run: see its logs")
        return ops.ActiveStatus()

    def _on_show(self, event: ops.ActionEvent):
        try:
            event.set_results(self.cluster.describe(self.unit.name.replace("/", "-"), CONTAINER))
        except ClusterError as e:
            event.fail(str(e))


if __name__ == "__main__":
    ops.main(KubyCharm)
