"""A world: a private model with a real agent, a clock, and faults that can be made."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unitd._door import Door, WorldError, write_commands
from unitd._parts import Agent, Clock, Stub
from unitd._words import Duration, Value, all_units, duration_text, optional, pairs, param_text, text_of, time_of

if TYPE_CHECKING:
    import jubilant
    from typing_extensions import Self

__all__ = ["Agent", "Clock", "CommandError", "MisuseError", "Snapshot", "Status", "Stub", "World", "WorldError"]


class CommandError(Exception):
    """A command has failed: the model refused it, or a unit is in error."""

    def __init__(self, message: str, stdout: str = "", stderr: str = "") -> None:
        super().__init__(message)
        self.stdout = stdout
        self.stderr = stderr


class MisuseError(CommandError):
    """A command can't have been meant so: no such unit, hook, endpoint or flag."""


@dataclass(frozen=True)
class Status:
    """The workload's status of a unit or an application."""

    status: str
    message: str = ""


@dataclass(frozen=True)
class Snapshot:
    """A world as it was."""

    world: World
    name: str

    def restore(self) -> None:
        """Make the world what it was, any number of times."""
        self.world.restore(self)


class World:
    """A private model in a data directory of its own, gone when it is closed.

    real_time: time goes on as the host's does, from the host's time on, so that what
    polls and waits does as elsewhere. Without it the agent goes on only during settle,
    run_hooks, clock.advance, run and exec, and the clock moves only by clock.advance.

    isolate is how units are isolated, as for "unitd deploy": on, auto, files or off.
    directory is where the relative paths of commands begin; by default the current one.
    program is the unitd to use; by default the one of this package.
    """

    def __init__(
        self,
        *,
        real_time: bool = True,
        isolate: str = "off",
        directory: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        program: str | os.PathLike[str] | None = None,
    ) -> None:
        options = [f"--isolate={isolate}"] + (["--real-time"] if real_time else [])
        self._directory = Path(directory or ".").absolute()
        self._door = Door(options, {**os.environ, **(environment or {})}, Path(program) if program else None)
        self._real = real_time
        self._now = datetime.min
        self._snapshots = 0
        opened = self._door.opened
        self.data = Path(opened["data"])
        """The data directory of the world (UNITD_DATA)."""
        self.work = Path(opened["work"])
        """A directory that hooks see as $UNITD_WORK."""
        self.environment: dict[str, str] = opened["environment"]
        """What has a unitd be in this world."""
        self.bin = self.work / ".bin"
        """A directory with the programs ``juju`` and ``unitd`` that are in this world."""
        write_commands(self.bin, opened["program"], self.environment)
        self.clock = Clock(self)
        self.agent = Agent(self)
        self._take(real_time)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<unitd.World {self.data}>"

    def close(self) -> None:
        """End the world and all that it has started.

        It raises WorldError if a unit has broken one of the guarantees meanwhile.
        """
        self._door.close()

    # What is said to the world.

    def do(self, command: str, *words: str | os.PathLike[str]) -> str:
        """Carry out a command of scenario scripts, and return what it prints.

        Commands are those of docs/scripts.md, each word as one argument. It raises
        CommandError where the command fails, MisuseError where it can't be meant so.
        """
        __tracebackhide__ = True
        line = [command, *(os.fspath(word) for word in words)]
        told = self._ask(command=line, dir=os.fspath(self._directory))
        stdout, stderr = str(told.get("stdout", "")), str(told.get("stderr", ""))
        if error := told.get("error"):
            raise (MisuseError if told.get("misuse") else CommandError)(f"{command}: {error}", stdout, stderr)
        return stdout

    def _ask(self, **asked: Any) -> dict[str, Any]:
        told = self._door.ask(**asked)
        self._now = time_of(told["now"])
        return told

    def _take(self, real: bool) -> None:
        self._real = real
        self._ask(real=real)

    def report(self) -> str:
        """Tell how the world looks: the units, their hooks, why they aren't settled, and the log of what failed."""
        return str(self._ask(report=True)["stdout"])

    # The model.

    def deploy(
        self,
        charm: str | os.PathLike[str],
        application: str | None = None,
        *,
        num_units: int = 1,
        config: Mapping[str, Value] | None = None,
        resources: Mapping[str, str] | None = None,
        trust: bool = False,
        flags: Sequence[str] = (),
    ) -> None:
        """Deploy a charm. A path is that of a directory or a .charm file; flags are more of them."""
        words = [os.fspath(charm), *optional(application)]
        if num_units != 1:  # a subordinate has no number
            words += ["--num-units", str(num_units)]
        for key, value in (config or {}).items():
            words += ["--config", f"{key}={text_of(value)}"]
        for key, value in (resources or {}).items():
            words += ["--resource", f"{key}={value}"]
        self.do("deploy", *words, *(["--trust"] if trust else []), *flags)

    def refresh(self, application: str, path: str | os.PathLike[str], *flags: str) -> None:
        """Upgrade an application's charm to the one at the path."""
        self.do("refresh", application, "--path", path, *flags)

    def integrate(self, one: str, other: str) -> None:
        """Relate two applications."""
        self.do("integrate", one, other)

    def remove_relation(self, one: str, other: str) -> None:
        """Remove a relation."""
        self.do("remove-relation", one, other)

    def add_unit(self, application: str, num_units: int = 1) -> None:
        """Add units to an application."""
        self.do("add-unit", application, "-n", str(num_units))

    def remove_unit(self, *units: str) -> None:
        """Remove units."""
        self.do("remove-unit", *units)

    def remove_application(self, *applications: str) -> None:
        """Remove applications."""
        self.do("remove-application", *applications)

    def config(self, application: str, values: Mapping[str, Value]) -> None:
        """Change the configuration of an application."""
        self.do("config", application, *pairs({k: text_of(v) for k, v in values.items()}))

    def resolved(self, *units: str, retry: bool = True) -> None:
        """Let units in error go on; without a name all of them."""
        self.do("resolved", *(units or ["--all"]), *([] if retry else ["--no-retry"]))

    def run(self, unit: str, action: str, params: Mapping[str, Value] | None = None) -> dict[str, Any]:
        """Run an action, let the world go on until nothing is left to do, and return the results.

        It raises CommandError where the action fails.
        """
        given = pairs({k: param_text(v) for k, v in (params or {}).items()})
        said = self.do("run", unit, action, *given, "--format", "json")
        (task,) = json.loads(said).values()
        if task.get("status") != "completed":
            raise CommandError(f"{action} of {unit} {task.get('status')}: {task.get('message', '')}", said)
        return dict(task.get("results", {}))

    def exec(self, unit: str, *command: str) -> str:
        """Run a command in the context of a unit, and return what it prints."""
        return self.do("unit-exec", unit, *command)

    # What there is.

    def status(self, name: str) -> Status:
        """Return the workload's status of a unit (shop/0) or an application (shop)."""
        whole = self.status_json()
        kind, all_of_them = ("unit", all_units(whole)) if "/" in name else ("application", whole.get("applications", {}))
        if name not in all_of_them:
            raise MisuseError(f"there is no {kind} {name!r}; there are {', '.join(all_of_them) or 'none'}")
        one = all_of_them[name].get("workload-status" if kind == "unit" else "application-status", {})
        return Status(one.get("current", ""), one.get("message", ""))

    def status_json(self) -> dict[str, Any]:
        """Return the whole status, as ``juju status --format json`` has it."""
        whole: dict[str, Any] = json.loads(self.do("status", "--format", "json"))
        return whole

    def hooks(self, unit: str) -> list[str]:
        """Return the hooks that a unit has run, as ``hooks`` of scripts shows them.

        So ``db-relation-joined(ledger/0)``, and ``config-changed=failed`` where one wasn't committed.
        """
        return [line.split()[0] for line in self.do("hooks", unit).splitlines()]

    def databag(self, unit: str, endpoint: str, remote: str | None = None) -> dict[str, str]:
        """Return a databag of a relation: the unit's own, or that of a remote unit or application."""
        detail = json.loads(self.do("show-unit", unit, "--format", "json"))[unit]
        relations = [r for r in detail.get("relation-info", []) if r["endpoint"] == endpoint]
        for relation in relations:
            units = {name: u.get("data", {}) for name, u in relation.get("related-units", {}).items()}
            if remote is None:
                return dict(relation.get("local-unit", {}).get("data", {}))
            if remote in units:
                return dict(units[remote])
            if "/" not in remote and any(name.partition("/")[0] == remote for name in units):
                return dict(relation.get("application-data", {}))
        # An application of which no unit is there: only this knows the relation. Its error says what is wrong.
        said = self.do("relation-data", unit, endpoint, *optional(remote))
        bags: list[dict[str, str]] = [relation.get("application-data") or {} for relation in relations]
        return next((dict(b) for b in bags if said == "".join(f"{k}: {b[k]}\n" for k in sorted(b))), {})

    def log(self, unit: str) -> str:
        """Return what a unit has logged."""
        return self.do("log", unit)

    def diff(self) -> list[str]:
        """Return what the last settle, clock.advance or run_hooks changed, one line each."""
        return self.do("diff").splitlines()

    # Time, and what goes wrong.

    def settle(self, *, errors: Literal["raise", "ignore"] = "raise") -> None:
        """Wait until nothing is left to do. It raises CommandError if a unit is in error, unless told otherwise."""
        __tracebackhide__ = True
        try:
            self.do("settle")
        except MisuseError:
            raise
        except CommandError:
            if errors == "raise":
                raise

    def run_hooks(self, number: int) -> None:
        """Let so many hooks run, and then hold the world, whose time has to stand still."""
        if self._real:
            raise MisuseError("run_hooks needs a world whose time stands still: clock.stop() before it")
        self.do("run-hooks", str(number))

    def stub(self, name: str, *endpoints: str, principal: bool = False) -> Stub:
        """Make an application without a charm; an endpoint is ``NAME:INTERFACE`` or ``NAME:INTERFACE:ROLE``.

        Subordinates live beside the units of one with ``principal=True``, which need have no endpoint.
        """
        self.do("stub", *(["--principal"] if principal else []), name, *endpoints)
        return Stub(self, name)

    def fail(self, unit: str, hook: str, times: int = 1) -> None:
        """Make the next runs of a hook fail, whatever the charm says."""
        self.do("fail", unit, hook, str(times))

    def hang(self, unit: str, hook: str, *, at: str | None = None) -> None:
        """Make the next run of a hook stand still, before it or at a point of it, until release."""
        self.do("hang", *(["at", at] if at else []), unit, hook)

    def release(self, unit: str) -> None:
        """Let a unit go that stands still, and drop its other faults."""
        self.do("release", unit)

    def kill(self, unit: str, hook: str, *, at: str | None = None) -> None:
        """Have the agent be killed while the next run of a hook is on, or at a point of it."""
        self.do("kill-agent", *(["at", at] if at else ["during"]), unit, hook)

    def lose_leadership(self, application: str) -> None:
        """Give the leadership of an application to another unit."""
        self.do("lose-leadership", application)

    def lose_store(self, duration: Duration) -> None:
        """Put the store out of the agent's reach for a while."""
        self.do("lose-store", duration_text(duration))

    @contextlib.contextmanager
    def disk_full(self) -> Iterator[None]:
        """Have every write of the agent and its hooks fail within the context."""
        self.do("disk-full", "on")
        try:
            yield
        finally:
            self.do("disk-full", "off")

    @contextlib.contextmanager
    def twice(self) -> Iterator[None]:
        """Have each hook run a second time within the context: settle, or its end, fails where that makes a difference."""
        self.do("twice", "on")
        try:
            yield
        except BaseException:
            with contextlib.suppress(CommandError):  # what has failed is told
                self.do("twice", "off")
            raise
        self.do("twice", "off")

    def recover(self) -> None:
        """Take away faults that have struck, as an operator would, and settle.

        An agent that was killed is started anew, units that stand still are let go,
        and those in error are told to go on. It raises CommandError if a fault that was
        to happen never has.
        """
        __tracebackhide__ = True
        try:
            self.do("settle")
            settled = True
        except CommandError as e:
            settled = False
            if "restart-agent" in str(e):
                self.agent.restart()
        if due := self._ask(due=True).get("stdout"):
            raise CommandError(str(due))
        if settled:
            return
        for unit in all_units(self.status_json()):
            self.release(unit)
        self.settle(errors="ignore")
        with contextlib.suppress(CommandError):
            self.resolved()
        self.settle()

    def snapshot(self, name: str | None = None, *, settle: bool = True) -> Snapshot:
        """Keep the world with its units, their files, the time and the faults to come; settled, by default. What hooks have left running ends (Linux)."""
        if settle:
            self.settle()
        self._snapshots += 1
        name = name or f"snapshot-{self._snapshots}"
        self.do("snapshot", name)
        return Snapshot(self, name)

    def restore(self, snapshot: Snapshot | str) -> None:
        """Make the world what it was at a snapshot, any number of times. What hooks have left running ends (Linux)."""
        self.do("restore", snapshot.name if isinstance(snapshot, Snapshot) else snapshot)

    # Other ways into it.

    def jubilant(self, **options: Any) -> jubilant.Juju:
        """Return a jubilant.Juju on this world, for which the package has to be there."""
        import jubilant

        return jubilant.Juju(cli_binary=self.bin / "juju", **options)
