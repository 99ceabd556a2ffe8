#!/usr/bin/env python3
"""A charm that shares a secret with those that it is integrated with."""

import ops

VERSION = "1.0"


class MintCharm(ops.CharmBase):
    """Strikes coins; the leader keeps the die, a secret of the application."""

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        coin = self.on["coin"]
        for event in (
            self.on.leader_elected,
            self.on.config_changed,
            self.on.upgrade_charm,
            coin.relation_created,
            coin.relation_changed,
        ):
            framework.observe(event, self._on_change)
        framework.observe(self.on.change_die_action, self._on_change_die)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)

    def _on_change(self, event: ops.EventBase):
        self.unit.set_workload_version(VERSION)
        if not self.unit.is_leader():
            return
        die = self._die()
        for relation in self.model.relations["coin"]:
            die.grant(relation)
            relation.data[self.app].update({"die": die.get_info().id, "metal": str(self.config["metal"])})

    def _die(self) -> ops.Secret:
        try:
            return self.model.get_secret(label="die")
        except ops.SecretNotFoundError:
            return self.app.add_secret({"word": "first"}, label="die")

    def _on_change_die(self, event: ops.ActionEvent):
        if not self.unit.is_leader():
            event.fail("the leader alone has the die")
            return
        self._die().set_content({"word": event.params["word"]})
        event.set_results({"changed-by": self.unit.name})

    def _on_collect_status(self, event: ops.CollectStatusEvent):
        customers = len(self.model.relations["coin"])
        event.add_status(ops.ActiveStatus(f"strikes {self.config['metal']} for {customers}"))


if __name__ == "__main__":
    ops.main(MintCharm)
