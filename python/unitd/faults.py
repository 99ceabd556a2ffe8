"""Faults as values, for tests that are run once for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from unitd.world import World

__all__ = ["Fault", "Kind", "faults"]

Kind: TypeAlias = Literal["fail", "kill", "hang"]
KINDS: tuple[Kind, ...] = ("fail", "kill", "hang")


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong in the next run of a hook."""

    kind: Kind
    unit: str
    hook: str
    at: str | None = None

    def __str__(self) -> str:
        point = f"-at-{self.at}" if self.at else ""
        return f"{self.kind}{point}-{self.unit.replace('/', '-')}-{self.hook}"

    def arm(self, world: World) -> None:
        """Have it happen in a world. World.recover() takes away what it leaves."""
        if self.kind == "fail":
            world.fail(self.unit, self.hook)
        elif self.kind == "kill":
            world.kill(self.unit, self.hook, at=self.at)
        else:
            world.hang(self.unit, self.hook, at=self.at)


def faults(unit: str, hooks: str | Iterable[str], *, kinds: Sequence[Kind] = KINDS, points: Sequence[str] = ()) -> list[Fault]:
    """Return faults of each kind in each of the hooks of a unit, for ``pytest.mark.parametrize``.

    points are those of docs/scripts.md at which kill and hang strike as well; a hook
    that fails does so at its end.

    >>> [str(f) for f in faults("shop/0", "start", kinds=["fail", "kill"], points=["tool"])]
    ['fail-shop-0-start', 'kill-shop-0-start', 'kill-at-tool-shop-0-start']
    """
    found: list[Fault] = []
    for hook in [hooks] if isinstance(hooks, str) else hooks:
        for kind in kinds:
            found.append(Fault(kind, unit, hook))
            if kind != "fail":
                found += [Fault(kind, unit, hook, point) for point in points]
    return found
