#!/usr/bin/env python3
"""A charm that follows the secret of the application that it is integrated with."""

import ops


class PurseCharm(ops.CharmBase):
    """Holds coins, and knows the word that stands on them."""

    _stored = ops.StoredState()

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        self._stored.set_default(word="", metal="")
        coin = self.on["coin"]
        framework.observe(coin.relation_changed, self._on_change)
        framework.observe(coin.relation_broken, self._on_broken)
        framework.observe(self.on.secret_changed, self._on_change)
        framework.observe(self.on.look_in_action, self._on_look_in)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)

    def _on_change(self, event: ops.EventBase):
        relation = self.model.get_relation("coin")
        told = relation.data[relation.app] if relation and relation.app else {}
        if uri := told.get("die"):
            # The newest revision: whoever is told of a new one has to ask for it.
            self._stored.word = self.model.get_secret(id=uri).get_content(refresh=True)["word"]
            self._stored.metal = told.get("metal", "")

    def _on_broken(self, event: ops.RelationBrokenEvent):
        self._stored.word = self._stored.metal = ""

    def _on_look_in(self, event: ops.ActionEvent):
        if not self._stored.word:
            event.fail("it is empty")
            return
        event.set_results({"coins": str(self.config["size"]), "word": self._stored.word})

    def _on_collect_status(self, event: ops.CollectStatusEvent):
        if self._stored.word:
            event.add_status(ops.ActiveStatus(f"{self.config['size']} of {self._stored.metal}: {self._stored.word}"))
        else:
            event.add_status(ops.BlockedStatus("empty: integrate with a mint"))


if __name__ == "__main__":
    ops.main(PurseCharm)
