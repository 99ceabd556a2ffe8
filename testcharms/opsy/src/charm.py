#!/usr/bin/env python3
"""A charm with the parts that most Ops charms have."""

import logging

import ops

logger = logging.getLogger(__name__)


class OpsyCharm(ops.CharmBase):
    """Greets, and uses a database if there is one.

    A new object is made for each hook and action. What must be remembered from
    one to the next is in the stored state, which Ops keeps in the file
    .unit-state.db in the charm directory, and only if the hook ends well.
    """

    _stored = ops.StoredState()

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        self._stored.set_default(events=0, database="")
        framework.observe(self.on.install, self._on_install)
        framework.observe(self.on.start, self._on_start)
        framework.observe(self.on.config_changed, self._on_change)
        framework.observe(self.on.upgrade_charm, self._on_change)
        db = self.on["db"]
        for event in (
            db.relation_created,
            db.relation_joined,
            db.relation_changed,
            db.relation_departed,
            db.relation_broken,
        ):
            framework.observe(event, self._on_change)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)
        framework.observe(self.on.status_report_action, self._on_status_report)

    def _on_install(self, event: ops.InstallEvent):
        self.unit.status = ops.MaintenanceStatus("getting ready")

    def _on_start(self, event: ops.StartEvent):
        self.unit.set_workload_version("1.0")
        self._on_change(event)

    def _on_change(self, event: ops.EventBase):
        """Bring everything into line with how things are, whatever has changed."""
        self._stored.events += 1
        database = self._find_database()
        if database != self._stored.database:
            logger.info("database: %r, was %r", database, self._stored.database)
            self._stored.database = database

    def _find_database(self) -> str:
        """Return the first unit that has published where its database is, or ""."""
        for relation in self.model.relations["db"]:
            if not relation.active:  # it is being broken
                continue
            for unit in sorted(relation.units, key=lambda unit: unit.name):
                # Any setting may be missing, at any time.
                settings = relation.data[unit]
                if all(settings.get(key) for key in ("host", "user", "password")):
                    return unit.name
        return ""

    def _on_collect_status(self, event: ops.CollectStatusEvent):
        """Say all that is so at the end of each hook; Ops picks the worst."""
        if not self.config.get("greeting"):
            event.add_status(ops.BlockedStatus("greeting is empty: set it to a word"))
        if self._stored.database:
            event.add_status(ops.ActiveStatus(f"ready, with the database of {self._stored.database}"))
        elif not self.config["need-database"]:
            event.add_status(ops.ActiveStatus("ready, without a database"))
        elif self.model.relations["db"]:
            event.add_status(ops.WaitingStatus("waiting for the database's credentials"))
        else:
            event.add_status(
                ops.BlockedStatus("needs a database: integrate with a provider of ledgerdb")
            )

    def _on_status_report(self, event: ops.ActionEvent):
        text = f"{self.config.get('greeting', '')} from {self.unit.name}"
        event.set_results({
            "text": text.upper() if event.params["shout"] else text,
            "events": str(self._stored.events),
            "database": self._stored.database or "none",
            "leader": str(self.unit.is_leader()).lower(),
        })


if __name__ == "__main__":
    ops.main(OpsyCharm)
