"""What a world has: its clock, its agent, and the stubs that a test makes in it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from unitd._words import Duration, duration_text, optional, pairs

if TYPE_CHECKING:
    from unitd.world import World


class Clock:
    """The time of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def now(self) -> datetime:
        """The time that it is in the world."""
        return self._world._now

    @property
    def real(self) -> bool:
        """Whether time goes on between commands as the host's does."""
        return self._world._real

    def advance(self, duration: Duration, *, skip_update_status: bool = False) -> None:
        """Let time pass, at once: retries, update-status and leases come due in their order.

        With skip_update_status an update-status that changes nothing stands for those after it.
        """
        flags = ["--skip-update-status"] if skip_update_status else []
        self._world.do("advance", *flags, duration_text(duration))

    def stop(self) -> None:
        """Have time stand still, and the agent with it, but for the commands that let it go on."""
        self._world._take(real=False)

    def go(self) -> None:
        """Have time go on as the host's does."""
        self._world._take(real=True)


class Agent:
    """The agent that runs the world's units, a process of its own."""

    def __init__(self, world: World) -> None:
        self._world = world

    def kill(self) -> None:
        """End it by SIGKILL."""
        self._world.do("kill-agent")

    def stop(self) -> None:
        """End it in good order."""
        self._world.do("stop-agent")

    def restart(self) -> None:
        """End it, if it hasn't ended, and start another one."""
        self._world.do("restart-agent")

    def reboot(self) -> None:
        """Reboot the machine that it is on."""
        self._world.do("reboot")


class Stub:
    """An application without a charm, whose units the test plays."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self.name = name

    @property
    def unit(self) -> str:
        """Its first unit."""
        return f"{self.name}/0"

    def set(self, values: Mapping[str, str], *, unit: str | None = None, endpoint: str | None = None) -> None:
        """Write to the databag of a unit in its relations; an empty value deletes."""
        self._world.do("stub-set", unit or self.unit, *optional(endpoint), *pairs(values))

    def set_app(self, values: Mapping[str, str], *, endpoint: str | None = None) -> None:
        """Write to the application's databag; an empty value deletes."""
        self._world.do("stub-set", "--app", self.name, *optional(endpoint), *pairs(values))

    def join(self, number: int = 1) -> None:
        """Add one unit, or the given number of units."""
        self._world.do("stub-join", self.name, str(number))

    def leave(self, unit: str | None = None) -> None:
        """Remove a unit."""
        self._world.do("stub-leave", unit or self.unit)
