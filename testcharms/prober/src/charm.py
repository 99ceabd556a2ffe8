#!/usr/bin/env python3
"""A charm that tries in a hook all that Ops offers of Pebble."""

import io
import os
import pathlib
import shutil
import tempfile

import ops
from ops import pebble
from ops.jujucontext import JujuContext

HOOKS = pathlib.Path("hooks.log")  # in the charm directory
SCRATCH = "/charm/container"  # as the container has it


class ProberCharm(ops.CharmBase):
    """Probes its container each time that Pebble has started."""

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        self.container = self.unit.get_container("probed")
        self._note()
        framework.observe(self.on.probed_pebble_ready, self._on_ready)
        framework.observe(self.on.probed_pebble_check_failed, self._on_check_failed)
        framework.observe(self.on.probed_pebble_custom_notice, self._on_notice)
        framework.observe(self.on.stop, self._on_stop)
        framework.observe(self.on.hang_action, self._on_hang)

    def _note(self):
        """Write down what Ops has read of the hook's environment."""
        context = JujuContext.from_environ()
        assert context.machine_id is None, context.machine_id
        assert context.availability_zone is None, context.availability_zone
        assert context.unit_name == self.unit.name, context.unit_name
        found = shutil.which("status-set")
        tools = "/var/lib/juju/tools/unit-" + self.unit.name.replace("/", "-")
        assert found == tools + "/status-set", found
        assert os.environ["PATH"].split(":")[0] == tools, os.environ["PATH"]
        assert os.getcwd() == str(self.charm_dir), os.getcwd()
        with HOOKS.open("a") as f:
            f.write(f"{context.dispatch_path} {context.workload_name or ''}\n")

    def _on_ready(self, event: ops.PebbleReadyEvent):
        assert event.workload.name == "probed"
        assert self.container.can_connect()
        assert "base" in self.container.get_plan().services  # the image's layer
        assert "probe" not in self.container.get_plan().services  # the charm's is gone after a restart
        assert not self.container.get_service("base").is_running()
        self._files()
        self._trees()
        self._commands()
        self._services()
        self._checks()
        self._notices()
        self.unit.status = ops.ActiveStatus("probed")

    def _files(self):
        c = self.container
        c.push("/probe/a/text", "zeile\nümlaut\n", make_dirs=True, permissions=0o640, user="web", group="web")
        assert c.pull("/probe/a/text").read() == "zeile\nümlaut\n"
        blob = bytes(range(256)) * 4096
        c.push("/probe/a/blob", io.BytesIO(blob))
        assert c.pull("/probe/a/blob", encoding=None).read() == blob
        info = {f.name: f for f in c.list_files("/probe/a")}
        assert sorted(info) == ["blob", "text"], info
        assert (info["text"].user, info["text"].user_id, info["text"].group) == ("web", 584792, "web"), info["text"]
        assert info["text"].permissions == 0o640 and info["blob"].user_id == 0, info
        assert [f.name for f in c.list_files("/probe/a", pattern="b*")] == ["blob"]
        assert c.list_files("/probe/a", itself=True)[0].type == pebble.FileType.DIRECTORY
        c.make_dir("/probe/b/c", make_parents=True, permissions=0o750, user_id=65534, group_id=65534)
        made = c.list_files("/probe/b/c", itself=True)[0]
        assert (made.permissions, made.user_id, made.group_id) == (0o750, 65534, 65534), made
        assert c.isdir("/probe/b/c") and c.exists("/probe/a/text") and not c.exists("/probe/none")
        for wrong in (lambda: c.pull("/probe/none"), lambda: c.push("/probe/none/x", "x"), lambda: c.remove_path("/probe/b")):
            try:
                wrong()
            except pebble.PathError:
                continue
            raise AssertionError("no PathError")
        c.remove_path("/probe/b", recursive=True)
        assert not c.exists("/probe/b")

    def _trees(self):
        c = self.container
        with tempfile.TemporaryDirectory() as name:
            here = pathlib.Path(name)
            (here / "tree" / "sub").mkdir(parents=True)
            (here / "tree" / "sub" / "leaf").write_text("leaf")
            c.push_path(here / "tree", "/probe")
            assert c.pull("/probe/tree/sub/leaf").read() == "leaf"
            (here / "back").mkdir()
            c.pull_path("/probe/tree", here / "back")
            assert (here / "back" / "tree" / "sub" / "leaf").read_text() == "leaf"

    def _commands(self):
        c = self.container
        script = "id -un; id -gn; echo $WORD; pwd; cat; echo wrong >&2; echo $JUJU_CONTAINER_NAME"
        process = c.exec(
            ["sh", "-c", script], user="web", group="web", environment={"WORD": "word"}, working_dir="/probe/a", stdin="in\n",
        )
        out, err = process.wait_output()
        assert (out, err) == ("web\nweb\nword\n/probe/a\nin\nprobed\n", "wrong\n"), (out, err)
        out, _ = c.exec(["sh", "-c", "echo wrong >&2"], combine_stderr=True).wait_output()
        assert out == "wrong\n", out
        try:
            c.exec(["sh", "-c", "echo said; exit 7"]).wait_output()
            raise AssertionError("no ExecError")
        except pebble.ExecError as e:
            assert (e.exit_code, e.stdout) == (7, "said\n"), e
        try:
            c.exec(["sleep", "1000"], timeout=0.2).wait()
            raise AssertionError("it wasn't ended")
        except (pebble.ChangeError, pebble.TimeoutError):  # Pebble's, or that of Ops a second later
            pass
        try:
            c.exec(["/nowhere"])
            raise AssertionError("no APIError")
        except pebble.APIError as e:
            assert e.code == 400, e

    def _services(self):
        c = self.container
        layer: ops.pebble.LayerDict = {
            "services": {
                "probe": {
                    "override": "replace",
                    "command": "sleep 1000",
                    "startup": "enabled",
                    "environment": {"WORD": "one"},
                    "user": "web",
                    "working-dir": "/probe/a",
                },
            },
        }
        c.add_layer("probe", layer)
        assert not c.get_service("probe").is_running()
        c.replan()
        assert c.get_service("probe").is_running() and c.get_service("base").is_running()
        out, _ = c.exec(["sh", "-c", "id -un; pwd; echo $WORD"], service_context="probe").wait_output()
        assert out == "web\n/probe/a\none\n", out
        first = self._pid()
        c.replan()
        assert self._pid() == first  # nothing has changed
        layer["services"]["probe"]["environment"] = {"WORD": "two"}
        c.add_layer("probe", layer, combine=True)
        c.replan()
        second = self._pid()
        assert second != first
        c.restart("probe")
        assert self._pid() != second
        c.stop("probe", "base")
        assert not c.get_service("probe").is_running()
        c.start("probe")
        c.send_signal("SIGCONT", "probe")
        assert c.get_plan().services["probe"].environment == {"WORD": "two"}

    def _pid(self) -> str:
        """Say which process the service is, by its environment."""
        look = "for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ 2>/dev/null | grep -q ^WORD= && echo $p; done; true"
        out, _ = self.container.exec(["sh", "-c", look]).wait_output()
        assert out.count("\n") == 1, out
        return out.strip()

    def _checks(self):
        c = self.container
        layer: ops.pebble.LayerDict = {
            "checks": {
                "fine": {"override": "replace", "period": "10s", "exec": {"command": "true"}},
                "later": {"override": "replace", "startup": "disabled", "period": "10s", "exec": {"command": "true"}},
            },
        }
        c.add_layer("probe", layer, combine=True)
        assert c.get_check("fine").status == pebble.CheckStatus.UP
        assert c.get_check("later").status == pebble.CheckStatus.INACTIVE
        assert c.start_checks("later") == ["later"]
        assert c.get_check("later").status == pebble.CheckStatus.UP
        assert c.stop_checks("fine") == ["fine"]
        assert c.get_check("fine").status == pebble.CheckStatus.INACTIVE
        assert c.stop_checks("sick") == ["sick"]  # it is the image's, and fails

    def _notices(self):
        c = self.container
        out, _ = c.exec(["/charm/bin/pebble", "notify", "example.com/probe", "k=v"]).wait_output()
        assert "Recorded notice" in out, out
        found = c.get_notices(keys=["example.com/probe"])
        assert len(found) == 1 and found[0].last_data == {"k": "v"}, found
        assert c.get_notice(found[0].id).occurrences == found[0].occurrences

    def _on_check_failed(self, event: ops.PebbleCheckFailedEvent):
        assert event.info.name == "sick", event.info

    def _on_notice(self, event: ops.PebbleCustomNoticeEvent):
        assert event.notice.key == "example.com/probe" and event.notice.last_data == {"k": "v"}, event.notice

    def _on_stop(self, _: ops.StopEvent):
        assert not self.container.can_connect()  # the tests have seen to that

    def _on_hang(self, event: ops.ActionEvent):
        try:
            self.container.exec(["sh", "-c", f"touch {SCRATCH}/hangs; exec sleep 1000"]).wait()
            event.fail("it has ended well")
        except Exception as e:
            event.set_results({"ended-by": type(e).__name__})


if __name__ == "__main__":
    ops.main(ProberCharm)
