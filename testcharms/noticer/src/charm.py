#!/usr/bin/env python3
"""A charm with two containers, which learns from notices and checks how they are."""

import logging
import pathlib

import ops

logger = logging.getLogger(__name__)

JOB_DONE = "example.com/noticer/job-done"
JOBS, ILL, SCRIPT = "/work/jobs", "/work/ill", "/work/worker.sh"
PAGE = "/srv/index.html"
PORT = 8080


class NoticerCharm(ops.CharmBase):
    """Runs a worker and a web server, and reports what the one has done by the other."""

    # It is in the charm directory. That is made anew together with the unit's
    # containers, and so are the notices that these numbers are about.
    _stored = ops.StoredState()

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        self._stored.set_default(hooks=0, jobs=0, last="", lines="", failed=0, recovered=0)
        self.worker = self.unit.get_container("worker")
        self.front = self.unit.get_container("front")
        framework.observe(self.on.worker_pebble_ready, self._on_change)
        framework.observe(self.on.front_pebble_ready, self._on_change)
        framework.observe(self.on.config_changed, self._on_change)
        framework.observe(self.on.worker_pebble_custom_notice, self._on_notice)
        framework.observe(self.on.worker_pebble_check_failed, self._on_check_failed)
        framework.observe(self.on.worker_pebble_check_recovered, self._on_check_recovered)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)
        framework.observe(self.on.submit_action, self._on_submit)
        framework.observe(self.on.ail_action, self._on_ail)
        framework.observe(self.on.report_action, self._on_report)

    def _on_change(self, _: ops.EventBase):
        self.unit.set_ports(PORT)
        for set_up in (self._set_up_worker, self._set_up_front):
            try:
                set_up()
            except ops.pebble.ConnectionError as e:
                # That container was restarted just now, and its pebble-ready will
                # come again. The other one is none the worse for it.
                logger.warning("a container went away: %s", e)

    def _set_up_worker(self):
        if not self.worker.can_connect():
            return
        script = pathlib.Path(__file__).with_name("worker.sh").read_text()
        self.worker.push(SCRIPT, script, make_dirs=True, permissions=0o755)
        layer: ops.pebble.LayerDict = {
            "services": {
                "worker": {"override": "replace", "command": f"/bin/sh {SCRIPT}", "startup": "enabled"},
            },
            "checks": {
                "well": {
                    "override": "replace",
                    "exec": {"command": f"/bin/test ! -e {ILL}"},
                    "period": str(self.config["check-period"]),
                    "timeout": "1s",
                    "threshold": int(self.config["check-threshold"]),
                },
            },
        }
        self.worker.add_layer("noticer", layer, combine=True)
        self.worker.replan()

    def _set_up_front(self):
        if not self.front.can_connect():
            return
        self._push_report()
        layer: ops.pebble.LayerDict = {
            "services": {
                "front": {
                    "override": "replace",
                    "command": f"/web -listen :{PORT} -file {PAGE}",
                    "startup": "enabled",
                },
            },
        }
        self.front.add_layer("noticer", layer, combine=True)
        self.front.replan()

    def _push_report(self):
        text = "".join(f"{key}: {value}\n" for key, value in self._report().items())
        self.front.push(PAGE, text, make_dirs=True)

    def _report(self) -> dict[str, str]:
        s = self._stored
        return {
            "hooks": str(s.hooks),
            "jobs": str(s.jobs),
            "last": str(s.last),
            "lines": str(s.lines),
            "failed": str(s.failed),
            "recovered": str(s.recovered),
        }

    def _on_notice(self, event: ops.PebbleCustomNoticeEvent):
        if event.notice.key != JOB_DONE:
            logger.info("nothing is known of notices %s", event.notice.key)
            return
        # The event has its id, type and key; Ops asks Pebble for the rest.
        self._stored.hooks += 1
        self._stored.jobs = event.notice.occurrences
        self._stored.last = event.notice.last_data.get("job", "")
        self._stored.lines = event.notice.last_data.get("lines", "")
        self._show()

    def _on_check_failed(self, event: ops.PebbleCheckFailedEvent):
        self._stored.failed += 1
        logger.warning("the check %s fails", event.info.name)
        self._show()

    def _on_check_recovered(self, event: ops.PebbleCheckRecoveredEvent):
        self._stored.recovered += 1
        logger.info("the check %s passes again", event.info.name)
        self._show()

    def _show(self):
        """Have the report on the page, if there is somebody to show it."""
        try:
            if self.front.can_connect():
                self._push_report()
        except ops.pebble.ConnectionError:
            logger.warning("the front went away; it gets the report when it is back")

    def _on_collect_status(self, event: ops.CollectStatusEvent):
        for container in (self.worker, self.front):
            event.add_status(self._status_of(container))

    def _status_of(self, container: ops.Container) -> ops.StatusBase:
        waiting = ops.WaitingStatus(f"waiting for Pebble in the container {container.name}")
        if not container.can_connect():
            return waiting
        try:
            if not container.get_services():
                return ops.MaintenanceStatus(f"setting up the container {container.name}")
            # How it was when the hook became due doesn't matter any more.
            for name, check in container.get_checks().items():
                if check.status == ops.pebble.CheckStatus.DOWN:
                    return ops.BlockedStatus(f"the check {name} of {container.name} is down")
            for name, service in container.get_services().items():
                if not service.is_running():
                    return ops.BlockedStatus(f"the service {name} doesn't run: see its logs")
        except ops.pebble.ConnectionError:
            return waiting
        return ops.ActiveStatus(f"{self._stored.jobs} jobs done")

    def _on_submit(self, event: ops.ActionEvent):
        if not self.worker.can_connect():
            event.fail("Pebble in the container worker doesn't answer")
            return
        # Pebble writes the file under another name first.
        self.worker.push(f"{JOBS}/{event.params['name']}.job", event.params["text"], make_dirs=True)

    def _on_ail(self, event: ops.ActionEvent):
        if not self.worker.can_connect():
            event.fail("Pebble in the container worker doesn't answer")
        elif event.params["well"]:
            self.worker.remove_path(ILL, recursive=True)  # recursive: it may be gone already
        else:
            self.worker.push(ILL, "", make_dirs=True)

    def _on_report(self, event: ops.ActionEvent):
        event.set_results(self._report())


if __name__ == "__main__":
    ops.main(NoticerCharm)
