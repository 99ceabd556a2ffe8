#!/usr/bin/env python3
"""A charm that keeps a list of what is in stock, as soundly as a charm can."""

import json
import logging
import pathlib
import secrets
import shutil

import ops

logger = logging.getLogger(__name__)

CONF = pathlib.Path("/etc/pantry/pantry.json")
PROGRAM = pathlib.Path("/usr/local/bin/pantry")
HOME = pathlib.Path("/var/lib/pantry")
VERSION = "2"
STOCK = "stock.json"
FORMER_STOCK = "stock.txt"  # the first version had a line for each kind

PROGRAM_TEXT = f"""#!/bin/sh
# Shows how the pantry is set up.
exec cat {CONF}
"""


class PantryCharm(ops.CharmBase):
    """Keeps the stock in a file, and tells others where the pantry is."""

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        self._leaving = None  # the storage that is being detached
        shelves, shelf, db, seal = (self.on[name] for name in ("shelves", "shelf", "db", "seal"))
        framework.observe(self.on.install, self._on_install)
        framework.observe(self.on.upgrade_charm, self._on_upgrade)
        framework.observe(self.on["larder"].storage_attached, self._on_attached)
        framework.observe(self.on["larder"].storage_detaching, self._on_detaching)
        # What must be done is the same in all of them: make everything as it should be. Any of
        # them may come first, or twice.
        for event in (
            self.on.config_changed,
            self.on.leader_elected,
            self.on.start,
            shelves.relation_changed,
            shelves.relation_departed,
            shelf.relation_created,
            shelf.relation_changed,
            shelf.relation_broken,
            db.relation_changed,
            db.relation_departed,
            db.relation_broken,
            seal.relation_changed,
            seal.relation_broken,
            self.on.secret_changed,
        ):
            framework.observe(event, self._on_change)
        framework.observe(self.on.secret_rotate, self._on_rotate)
        framework.observe(self.on.secret_remove, self._on_secret_remove)
        framework.observe(self.on.restock_action, self._on_restock)
        framework.observe(self.on.stocktake_action, self._on_stocktake)
        framework.observe(self.on.remove, self._on_remove)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)

    # The machine.

    def _on_install(self, _: ops.InstallEvent):
        self._put(PROGRAM, PROGRAM_TEXT, 0o755)
        self.unit.set_workload_version(VERSION)

    def _on_upgrade(self, event: ops.UpgradeCharmEvent):
        self._put(PROGRAM, PROGRAM_TEXT, 0o755)
        self.unit.set_workload_version(VERSION)
        for place in self._places():
            self._rewrite(place)
        self._on_change(event)

    def _on_remove(self, _: ops.RemoveEvent):
        PROGRAM.unlink(missing_ok=True)
        shutil.rmtree(CONF.parent, ignore_errors=True)
        shutil.rmtree(HOME, ignore_errors=True)

    def _put(self, path: pathlib.Path, text: str, mode: int):
        """Write a file whole, or leave it as it was."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.touch(mode=mode)
        part.chmod(mode)
        part.write_text(text)
        part.replace(path)

    # The stock. It may be in several places, each with the number of its edition: a copy is
    # made before anything is removed, and the newest edition counts, wherever it is.

    def _places(self) -> list[pathlib.Path]:
        """Return where the stock may be: on the storage, if there is one, and on the machine."""
        storages = [storage.location for storage in self.model.storages["larder"]]
        return [place for place in storages if place != self._leaving] + [HOME]

    def _read(self, place: pathlib.Path) -> tuple[int, dict[str, int]]:
        """Return the edition that is in a place, 0 for none, and the stock."""
        if (place / STOCK).exists():
            kept = json.loads((place / STOCK).read_text())
            return kept["edition"], kept["stock"]
        if (place / FORMER_STOCK).exists():
            edition, *lines = (place / FORMER_STOCK).read_text().splitlines()
            parts = [line.rpartition(" ") for line in lines]
            return int(edition), {kind: int(amount) for kind, _, amount in parts}
        return 0, {}

    def _write(self, place: pathlib.Path, edition: int, stock: dict[str, int]):
        self._put(place / STOCK, json.dumps({"edition": edition, "stock": stock}, sort_keys=True), 0o644)

    def _newest(self) -> tuple[int, dict[str, int]]:
        return max((self._read(place) for place in self._places()), key=lambda kept: kept[0])

    def _stock(self) -> dict[str, int]:
        return self._newest()[1]

    def _keep(self, stock: dict[str, int]):
        """Make this the newest edition."""
        self._write(self._places()[0], self._newest()[0] + 1, stock)

    def _copy(self, place: pathlib.Path):
        """Have the newest edition in a place, too."""
        edition, stock = self._newest()
        if edition > self._read(place)[0]:
            self._write(place, edition, stock)

    def _rewrite(self, place: pathlib.Path):
        """Bring what is in a place into the present form."""
        if (place / FORMER_STOCK).exists():
            self._write(place, *self._read(place))
            (place / FORMER_STOCK).unlink()

    def _on_attached(self, event: ops.StorageAttachedEvent):
        """Take the stock to the storage, or from it. This may come before install."""
        self._copy(event.storage.location)
        self._on_change(event)

    def _on_detaching(self, event: ops.StorageDetachingEvent):
        self._copy(HOME)
        self._leaving = event.storage.location

    # The model.

    def _problem(self) -> str:
        """Say what is wrong with the configuration, or nothing."""
        if not 1 <= int(self.config["port"]) <= 65535:
            return f"port must be from 1 to 65535, not {self.config['port']}"
        if not self.config["motto"]:
            return "motto is empty: set it to some words"
        if not 1 <= int(self.config["depth"]) <= 9:
            return f"depth must be from 1 to 9, not {self.config['depth']}"
        return ""

    def _on_change(self, _: ops.EventBase):
        if self._problem():
            return
        self.unit.set_ports(int(self.config["port"]))
        self._put(CONF, json.dumps(self._conf(), sort_keys=True, indent=1), 0o600)
        self._tell_shelves()
        self._drop_keys()
        for relation in self.model.relations["shelf"]:
            if relation.active:
                self._tell_consumer(relation)

    def _conf(self) -> dict:
        conf = {"motto": self.config["motto"], "port": self.config["port"], "depth": self.config["depth"]}
        if database := self._database():
            conf["database"] = {key: database[key] for key in ("host", "port", "user", "password")}
        if token := self._token(take=True):
            conf["token"] = token
        return conf

    def _database(self) -> dict[str, str]:
        """Return what the first unit has published that has published all, or nothing."""
        for relation in self.model.relations["db"]:
            if not relation.active:  # it is being broken
                continue
            for unit in sorted(relation.units, key=lambda unit: unit.name):
                settings = dict(relation.data[unit])
                if all(settings.get(key) for key in ("host", "port", "user", "password")):
                    return settings
        return {}

    def _token(self, take: bool) -> str:
        """Return what is in the secret of the application that seals, or nothing.

        Whoever takes the newest revision isn't told of it any more, so only who uses it does.
        """
        for relation in self.model.relations["seal"]:
            if not relation.active or not relation.app:
                continue
            uri = relation.data[relation.app].get("token")
            if not uri:
                continue
            try:
                secret = self.model.get_secret(id=uri)
                content = secret.get_content(refresh=True) if take else secret.peek_content()
                return content.get("token", "")
            except (ops.SecretNotFoundError, ops.ModelError):
                logger.info("the secret of %s can't be read", relation.app.name)
        return ""

    def _tell_shelves(self):
        """Tell the peers how many kinds there are here, and, as the leader, how many in all."""
        relation = self.model.get_relation("shelves")
        if not relation:
            return
        relation.data[self.unit]["kinds"] = str(len(self._stock()))
        if self.unit.is_leader():
            counts = [relation.data[unit].get("kinds", "0") for unit in (self.unit, *relation.units)]
            relation.data[self.app]["kinds"] = str(sum(int(count) for count in counts))
            relation.data[self.app]["motto"] = str(self.config["motto"])

    def _tell_consumer(self, relation: ops.Relation):
        binding = self.model.get_binding(relation)
        relation.data[self.unit]["address"] = str(binding.network.ingress_address)
        relation.data[self.unit]["port"] = str(self.config["port"])
        if self.unit.is_leader():
            relation.data[self.app]["key"] = self._key(relation)

    def _key(self, relation: ops.Relation) -> str:
        """Return the URI of the consumer's secret, which is made once."""
        label = f"shelf-{relation.id}"
        try:
            secret = self.model.get_secret(label=label)
            uri = secret.get_info().id
        except ops.SecretNotFoundError:
            secret = self.app.add_secret({"key": secrets.token_hex(8)}, label=label, rotate=ops.SecretRotate.MONTHLY)
            uri = secret.id
        secret.grant(relation)
        return uri

    def _drop_keys(self):
        """Remove the secrets of consumers that are gone.

        Any leader does this for all: the one who made a secret may not lead any more when its
        consumer goes.
        """
        peers = self.model.get_relation("shelves")
        if not peers or not self.unit.is_leader():
            return
        there = {relation.id for relation in self.model.relations["shelf"] if relation.active}
        for gone in set(json.loads(peers.data[self.app].get("keys", "[]"))) - there:
            try:
                self.model.get_secret(label=f"shelf-{gone}").remove_all_revisions()
            except ops.SecretNotFoundError:
                pass
        peers.data[self.app]["keys"] = json.dumps(sorted(there))

    def _on_rotate(self, event: ops.SecretRotateEvent):
        if self.unit.is_leader():
            event.secret.set_content({"key": secrets.token_hex(8)})

    def _on_secret_remove(self, event: ops.SecretRemoveEvent):
        if self.unit.is_leader():
            event.remove_revision()

    # People.

    def _on_restock(self, event: ops.ActionEvent):
        stock = self._stock()
        stock[event.params["kind"]] = event.params["amount"]
        self._keep({kind: amount for kind, amount in stock.items() if amount})
        self._tell_shelves()
        event.set_results({"kinds": str(len(self._stock()))})

    def _on_stocktake(self, event: ops.ActionEvent):
        event.set_results({"stock": json.dumps(self._stock(), sort_keys=True)})

    def _on_collect_status(self, event: ops.CollectStatusEvent):
        """Say all that is so at the end of each hook; Ops picks the worst."""
        if problem := self._problem():
            event.add_status(ops.BlockedStatus(problem))
        if any(r.active for r in self.model.relations["db"]) and not self._database():
            event.add_status(ops.WaitingStatus("waiting for the database's credentials"))
        if any(r.active for r in self.model.relations["seal"]) and not self._token(take=False):
            event.add_status(ops.WaitingStatus("waiting for the token"))
        where = "the machine's disk" if self._places()[0] == HOME else "storage"
        event.add_status(ops.ActiveStatus(f"{len(self._stock())} kinds on {where}"))


if __name__ == "__main__":
    ops.main(PantryCharm)
