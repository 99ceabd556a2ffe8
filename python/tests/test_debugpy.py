"""A hook that an editor debugs: the test is the editor, and speaks the Debug Adapter Protocol."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unitd import World


class Editor:
    """Enough of an editor to stop at a breakpoint."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=300)
        self._stream = self._socket.makefile("rwb")
        self._number = 0

    def say(self, command: str, **arguments: Any) -> None:
        self._number += 1
        body = json.dumps({"seq": self._number, "type": "request", "command": command, "arguments": arguments}).encode()
        self._stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._stream.flush()

    def close(self) -> None:
        """Leave, as editors do at the end; debugpy's adapter waits for that."""
        self._stream.close()
        self._socket.close()

    def hear(self, kind: str, name: str) -> dict[str, Any]:
        """Return the next answer or event of that name; others are passed over."""
        while True:
            length = 0
            while (line := self._stream.readline().strip()) or not length:
                assert line, "the debugger has gone"
                length = int(line.split(b":")[1])
            message: dict[str, Any] = json.loads(self._stream.read(length))
            if message["type"] == kind and message[{"event": "event", "response": "command"}[kind]] == name:
                return message


@contextlib.contextmanager
def debugging(world: World, unit: str, *words: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Have a unit's hooks be debugged, and yield what that says."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [world.bin / "unitd", "debug-code", unit, *words, "--debugpy", "--port", "0", "--once"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "PATH": path}, text=True)
    said: list[str] = []
    listens = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if "Waiting for" in line or "ERROR" in line:
                listens.set()
        listens.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        assert listens.wait(300)
        yield process, said
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=300)
        process.kill()
        reader.join(timeout=300)


def port_of(said: list[str]) -> int:
    """Return the port that was said, as soon as it was."""
    for _ in range(3000):
        if found := re.search(r"debugpy waits on 127\.0\.0\.1:(\d+)", "".join(said)):
            return int(found.group(1))
        threading.Event().wait(0.1)
    raise AssertionError(f"no port was said: {said}")


def connected(port: int) -> Editor:
    """Return an editor at the port, as soon as debugpy listens there."""
    for _ in range(3000):
        with contextlib.suppress(ConnectionRefusedError):
            return Editor(port)
        threading.Event().wait(0.1)
    raise AssertionError(f"nobody listens on port {port}")


def test_an_editor_stops_at_a_line_of_the_charm(unitd: World, tmp_path: Path) -> None:
    charm = tmp_path / "counter"
    (charm / "src").mkdir(parents=True)
    (charm / "metadata.yaml").write_text("name: counter\nsummary: counts\n")
    (charm / "config.yaml").write_text("options: {n: {type: int, default: 1}}\n")
    (charm / "dispatch").write_text("#!/bin/sh\npython3 -c pass\nPYTHONPATH=lib:venv exec python3 src/charm.py\n")
    (charm / "dispatch").chmod(0o755)
    (charm / "src" / "charm.py").write_text("import os\n\nhook = os.environ['JUJU_HOOK_NAME']\nprint(hook)\n")
    unitd.deploy(charm)
    unitd.settle()

    with debugging(unitd, "counter/0", "config-changed") as (process, said):
        unitd.config("counter", {"n": 2})
        editor = connected(port_of(said))
        (remote,) = re.findall(r'"remoteRoot": (".*")', "".join(said))
        mapping = {"localRoot": str(charm), "remoteRoot": json.loads(remote)}
        editor.say("initialize", adapterID="test")
        editor.say("attach", pathMappings=[mapping])
        editor.hear("event", "initialized")
        editor.say("setBreakpoints", source={"path": str(charm / "src" / "charm.py")}, breakpoints=[{"line": 4}])
        editor.say("configurationDone")
        thread = editor.hear("event", "stopped")["body"]["threadId"]
        editor.say("stackTrace", threadId=thread)
        frame = editor.hear("response", "stackTrace")["body"]["stackFrames"][0]
        assert (frame["source"]["path"], frame["line"]) == (str(charm / "src" / "charm.py"), 4)
        editor.say("evaluate", expression="hook", frameId=frame["id"])
        assert editor.hear("response", "evaluate")["body"]["result"] == "'config-changed'"
        editor.say("continue", threadId=thread)
        editor.hear("event", "terminated")
        editor.close()
        assert process.wait(timeout=300) == 0
    assert any("config-changed ended with exit code 0" in line for line in said)
    unitd.settle()
    assert unitd.hooks("counter/0")[-1] == "config-changed"


def test_a_port_that_is_taken_is_said(unitd: World, tmp_path: Path) -> None:
    unitd.stub("pg", "db:sql")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        command = [unitd.bin / "unitd", "debug-code", "pg/0", "--debugpy", "--port", port]
        done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (1, f"ERROR port {port} of 127.0.0.1 is taken; --port 0 takes another one\n")
