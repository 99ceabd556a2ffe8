#!/usr/bin/env python3
"""A charm whose workload is a web server in a container."""

import logging

import ops

logger = logging.getLogger(__name__)

PAGE = "/srv/index.html"
SERVICE = "web"


class WebbyCharm(ops.CharmBase):
    """Gives the server its page, and tells Pebble how to run it."""

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        self.container = self.unit.get_container("web")
        # What must be done is the same in all of them: make it right. Any of
        # them may come first, and pebble-ready comes again whenever the
        # container was restarted: then its files and its layers are gone.
        db = self.on["db"]
        for event in (
            self.on.web_pebble_ready,
            self.on.config_changed,
            db.relation_changed,
            db.relation_departed,
            db.relation_broken,
        ):
            framework.observe(event, self._on_change)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)
        framework.observe(self.on.page_action, self._on_page)

    def _problem(self) -> str:
        """Say what is wrong with the configuration, or nothing."""
        if not self.config["greeting"]:
            return "greeting is empty: set it to a word"
        if not 1 <= int(self.config["port"]) <= 65535:
            return f"port must be from 1 to 65535, not {self.config['port']}"
        return ""

    def _on_change(self, _: ops.EventBase):
        if self._problem():
            return
        self.unit.set_ports(int(self.config["port"]))
        # Before Pebble answers there is nothing to do: pebble-ready will come.
        if not self.container.can_connect():
            return
        try:
            self.container.push(PAGE, self._page(), make_dirs=True, permissions=0o644)
            self.container.add_layer("webby", self._layer(), combine=True)
            # Starts the service, or restarts it if its layer has changed. The
            # page alone needs no restart.
            self.container.replan()
        except ops.pebble.ConnectionError:
            # The container was restarted just now: pebble-ready will come again.
            logger.warning("the container went away; it is set up when it is back")
            return
        self.unit.set_workload_version("1.0")

    def _page(self) -> str:
        lines = [f"{self.config['greeting']} from {self.unit.name}"]
        if database := self._database():
            lines.append(f"database {database['title']} at {database['host']}:{database['port']}")
        return "\n".join(lines) + "\n"

    def _layer(self) -> ops.pebble.LayerDict:
        port = self.config["port"]
        return {
            "summary": "the web server",
            "services": {
                SERVICE: {
                    "override": "replace",
                    "command": f"/web -listen :{port} -file {PAGE}",
                    "startup": "enabled",
                    "environment": {"GREETING": str(self.config["greeting"])},
                },
            },
            "checks": {
                "up": {
                    "override": "replace",
                    "level": "ready",
                    "http": {"url": f"http://localhost:{port}/health"},
                },
            },
        }

    def _database(self) -> dict[str, str]:
        """Return what the first unit has published that has published all, or nothing."""
        for relation in self.model.relations["db"]:
            if not relation.active:  # it is being broken
                continue
            for unit in sorted(relation.units, key=lambda unit: unit.name):
                settings = dict(relation.data[unit])
                if all(settings.get(key) for key in ("host", "port", "user", "password", "title")):
                    return settings
        return {}

    def _on_collect_status(self, event: ops.CollectStatusEvent):
        """Say all that is so at the end of each hook; Ops picks the worst."""
        if problem := self._problem():
            event.add_status(ops.BlockedStatus(problem))
        event.add_status(self._server_status())
        if any(r.active for r in self.model.relations["db"]) and not self._database():
            event.add_status(ops.WaitingStatus("waiting for the database's credentials"))

    def _server_status(self) -> ops.StatusBase:
        if not self.container.can_connect():
            return ops.WaitingStatus("waiting for Pebble in the container web")
        try:
            service = self.container.get_services(SERVICE).get(SERVICE)
        except ops.pebble.ConnectionError:
            return ops.WaitingStatus("waiting for Pebble in the container web")
        if service is None:
            return ops.MaintenanceStatus("setting up the server")
        if not service.is_running():
            return ops.BlockedStatus("the server doesn't run: see its logs")
        return ops.ActiveStatus(f"serving on port {self.config['port']}")

    def _on_page(self, event: ops.ActionEvent):
        if not self.container.can_connect():
            event.fail("Pebble in the container web doesn't answer")
            return
        try:
            event.set_results({"page": self.container.pull(PAGE).read()})
        except ops.pebble.PathError:
            event.fail("there is no page yet")


if __name__ == "__main__":
    ops.main(WebbyCharm)
