#!/usr/bin/env python3
"""A market: a charm with as many relations, options and actions as the largest have."""

import json
import logging
import pathlib

import ops

logger = logging.getLogger(__name__)

RULES = pathlib.Path("/etc/bazaar/rules.json")
HOME = pathlib.Path("/var/lib/bazaar")
STALLS = HOME / "stalls.json"
FEET = 3  # to a pace

# What an option that is a number may be.
RANGES = {
    "port": (1, 65535),
    "metrics-port": (1, 65535),
    "opens-at": (0, 23),
    "closes-at": (1, 24),
    "lanes": (1, 40),
    "stalls-per-lane": (1, 100),
    "width": (1, 20),
    "rent": (0, 1e6),
    "tax": (0, 1),
    "retries": (0, 10),
    "timeout": (1, 3600),
}
CHOICES = {"language": ("de", "en", "fr"), "log-level": ("debug", "info", "warning", "error")}

# What the other side of an endpoint has to publish before it is of use.
NEEDED = {"db": ("host", "port", "user", "password"), "cache": ("host", "port"), "mail": ("host", "port", "sender")}


class BazaarCharm(ops.CharmBase):
    """Writes the rules of the market, and tells its neighbours where it is."""

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        events = [self.on.install, self.on.config_changed, self.on.leader_elected, self.on.start, self.on.upgrade_charm, self.on.secret_changed]
        for name in (*NEEDED, "seal"):
            events += [self.on[name].relation_changed, self.on[name].relation_departed, self.on[name].relation_broken]
        for name in ("front", "metrics"):
            events += [self.on[name].relation_created, self.on[name].relation_changed]
        events += [self.on["stalls"].relation_changed, self.on["stalls"].relation_departed]
        for event in events:
            framework.observe(event, self._on_change)
        framework.observe(self.on.remove, self._on_remove)
        framework.observe(self.on.open_stall_action, self._on_open)
        framework.observe(self.on.close_stall_action, self._on_close)
        framework.observe(self.on.list_stalls_action, self._on_list)
        framework.observe(self.on.measure_action, self._on_measure)
        framework.observe(self.on.show_rules_action, self._on_show_rules)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)

    # The machine.

    def _put(self, path: pathlib.Path, text: str, mode: int):
        """Write a file whole, or leave it as it was."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.touch(mode=mode)
        part.chmod(mode)
        part.write_text(text)
        part.replace(path)

    def _on_remove(self, _: ops.RemoveEvent):
        for path in (RULES, STALLS):
            path.with_name(path.name + ".part").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            if path.parent.is_dir():
                path.parent.rmdir()

    # The model.

    def _problem(self) -> str:
        """Say what is wrong with the configuration, or nothing."""
        for name, (least, most) in RANGES.items():
            if not least <= self.config[name] <= most:
                return f"{name} must be from {least} to {most}, not {self.config[name]}"
        for name, choices in CHOICES.items():
            if self.config[name] not in choices:
                return f"{name} must be one of {', '.join(choices)}"
        currency = str(self.config["currency"])
        if len(currency) != 3 or not currency.isalpha() or not currency.isascii() or not currency.isupper():
            return "currency must be three capital letters"
        if not self.config["title"]:
            return "title is empty: set it to some words"
        if self.config["closes-at"] <= self.config["opens-at"]:
            return "closes-at must be after opens-at"
        if self.config["port"] == self.config["metrics-port"]:
            return "metrics-port must not be port"
        return ""

    def _on_change(self, _: ops.EventBase):
        """Make all as it should be, whatever has happened."""
        if self._problem():
            return
        self.unit.set_ports(*([int(self.config["port"])] if self.config["public"] else []))
        self._put(RULES, json.dumps(self._rules(), sort_keys=True, indent=1), 0o600)
        self._tell("front", {"port": str(self.config["port"])})
        self._tell("metrics", {"port": str(self.config["metrics-port"]), "path": "/metrics"})
        self._tell_stalls()

    def _rules(self) -> dict:
        rules = {name: self.config[name] for name in self.config}
        for name in NEEDED:
            if found := self._found(name):
                rules["with-" + name] = found
        if token := self._token(take=True):
            rules["token"] = token
        return rules

    def _found(self, name: str) -> dict[str, str]:
        """Return what the first unit of an endpoint has published that has published all, or nothing."""
        for relation in self.model.relations[name]:
            if not relation.active:
                continue
            for unit in sorted(relation.units, key=lambda unit: unit.name):
                settings = dict(relation.data[unit])
                if all(settings.get(key) for key in NEEDED[name]):
                    return {key: settings[key] for key in NEEDED[name]}
        return {}

    def _token(self, take: bool) -> str:
        """Return what is in the secret of the application that seals, or nothing."""
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

    def _tell(self, name: str, settings: dict[str, str]):
        for relation in self.model.relations[name]:
            if not relation.active:
                continue
            binding = self.model.get_binding(relation)
            relation.data[self.unit]["address"] = str(binding.network.ingress_address)
            relation.data[self.unit].update(settings)
            if self.unit.is_leader():
                relation.data[self.app]["title"] = str(self.config["title"])

    def _tell_stalls(self):
        """Tell the peers how many stalls there are here."""
        if relation := self.model.get_relation("stalls"):
            relation.data[self.unit]["stalls"] = str(len(self._stalls()))

    # People.

    def _stalls(self) -> dict[str, int]:
        return json.loads(STALLS.read_text()) if STALLS.exists() else {}

    def _keep(self, stalls: dict[str, int]):
        self._put(STALLS, json.dumps(stalls, sort_keys=True), 0o644)
        self._tell_stalls()

    def _on_open(self, event: ops.ActionEvent):
        self._keep({**self._stalls(), event.params["name"]: event.params["size"]})
        event.set_results({"stalls": str(len(self._stalls()))})

    def _on_close(self, event: ops.ActionEvent):
        self._keep({name: size for name, size in self._stalls().items() if name != event.params["name"]})
        event.set_results({"stalls": str(len(self._stalls()))})

    def _on_list(self, event: ops.ActionEvent):
        event.set_results({"stalls": json.dumps(self._stalls(), sort_keys=True)})

    def _on_measure(self, event: ops.ActionEvent):
        paces = sum(self._stalls().values())
        event.set_results({"width": str(paces * FEET if event.params["unit"] == "feet" else paces)})

    def _on_show_rules(self, event: ops.ActionEvent):
        """Show the rules, but for what is nobody else's business."""
        rules = json.loads(RULES.read_text()) if RULES.exists() else {}
        event.set_results({"rules": json.dumps({name: rules[name] for name in self.config if name in rules}, sort_keys=True)})

    def _on_collect_status(self, event: ops.CollectStatusEvent):
        if problem := self._problem():
            event.add_status(ops.BlockedStatus(problem))
        for name in NEEDED:
            if any(relation.active for relation in self.model.relations[name]) and not self._found(name):
                event.add_status(ops.WaitingStatus(f"waiting for what {name} publishes"))
        if any(relation.active for relation in self.model.relations["seal"]) and not self._token(take=False):
            event.add_status(ops.WaitingStatus("waiting for the token"))
        event.add_status(ops.ActiveStatus(f"{len(self._stalls())} stalls"))


if __name__ == "__main__":
    ops.main(BazaarCharm)
