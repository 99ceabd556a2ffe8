"""The program that keeps a world, and what is said to it: lines of JSON."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unitd._program import find_unitd_bin


class WorldError(Exception):
    """A world couldn't be opened, has ended, or a unit in it has broken a guarantee."""


class Door:
    """A running ``unitd world``. It is safe for use by many threads."""

    def __init__(self, options: Sequence[str], environment: Mapping[str, str], program: Path | None) -> None:
        self._lock = threading.Lock()
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [program or find_unitd_bin(), "world", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=dict(environment),
            start_new_session=True,  # Ctrl-C is for the tests, which then close the world
        )
        self.opened: dict[str, Any] = self._read()["world"]

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Say something and return the answer."""
        with self._lock:
            if self._process.stdin is None or self._process.stdin.closed:
                raise WorldError("the world is closed")
            try:
                self._process.stdin.write(json.dumps(asked).encode() + b"\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                pass  # what it has said is read
            return self._read()

    def close(self) -> None:
        """End the world, and all that it has started. It may be closed already."""
        with self._lock:
            if self._process.stdin is None or self._process.stdin.closed:
                return
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                pass
            try:
                code = self._process.wait(timeout=300)
            except subprocess.TimeoutExpired:
                self._process.kill()
                code = self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            said = self._stderr()
            self._said.close()
            if code != 0:
                raise WorldError(said or f"the program of the world has ended with exit code {code}")

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise WorldError(self._stderr() or f"the program of the world has ended with exit code {code}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _stderr(self) -> str:
        self._said.seek(0)
        return self._said.read().decode(errors="replace").strip()


def write_commands(directory: Path, program: str, environment: Mapping[str, str]) -> None:
    """Write programs ``juju`` and ``unitd`` that are in a world, into a new directory."""
    inside = directory / "programs"
    inside.mkdir(parents=True)
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    for name in ("juju", "unitd"):
        (inside / name).symlink_to(program)
        script = directory / name
        script.write_text(f'#!/bin/sh\n{exports}exec {shlex.quote(os.fspath(inside / name))} "$@"\n')
        script.chmod(0o755)
