package isolate_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
)

// inRun has a script run in a cell as a hook is, in cgroups; what it prints is told to see,
// which may end it.
func inRun(w *world, c *isolate.Cell, r *runner.Runner, mark, script string, see func(line string, end func())) runner.Outcome {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	program, args := c.Command("/", "/bin/sh", "-c", script)
	return r.Run(ctx, runner.Cmd{
		Path: program, Args: args, Dir: "/", Grace: 100 * time.Millisecond, Within: c.Groups(),
		Env:    []string{"PATH=" + isolate.Path, runner.MarkVariable + "=" + mark},
		Output: func(_ runner.Stream, line string) { see(line, cancel) },
	})
}

// TestHostProgramsAreInTheCgroupsOfTheirMachine, where systemd can take them from. What is
// left of a run that is ended is ended with it, whatever it has done; services go on.
func TestHostProgramsAreInTheCgroupsOfTheirMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.machine("app/0")
	c := w.openBy(spec)
	groups := runner.OpenCgroups(w.dir)
	defer groups.Close()
	r := &runner.Runner{Cgroups: groups}
	defer r.Close()
	var said []string
	see := func(line string, _ func()) { said = append(said, line) }
	o := inRun(w, c, r, w.dir+"1", `grep ^0: /proc/self/cgroup
		systemd-run --quiet --scope --unit=own grep ^0: /proc/self/cgroup
		systemd-run --quiet --unit=served sleep 100000
		setsid sleep 100000 >/dev/null 2>&1 & echo $! >/run/left
		systemctl daemon-reexec; systemctl is-system-running`, see)
	if got := strings.Join(said, ","); o.Exit != 0 || !strings.HasPrefix(got, "0::/unitd/run-") || !strings.HasSuffix(got, ",0::/system.slice/own.scope,running") {
		t.Errorf("%+v: %q", o, said)
	}
	said = nil
	o = inRun(w, c, r, w.dir+"2", `trap '' TERM
		(env -i PATH=$PATH setsid sh -c 'trap "" TERM; echo $$ >/run/hung; exec sleep 100000' &)
		until [ -s /run/hung ]; do sleep 0.01; done
		echo ready; while :; do sleep 60; done`, func(_ string, end func()) { end() })
	if !o.Stopped || o.Left != 0 {
		t.Errorf("%+v: %q", o, said)
	}
	want(t, c, `kill -0 $(cat /run/hung) 2>/dev/null || echo ended; kill -0 $(cat /run/left) && systemctl is-active served; grep ^0: /proc/self/cgroup | sed s,[0-9]*$,,`, "ended\nactive\n0::/unitd/session-")
	// What a former agent has run is swept once nobody is in it.
	empty := runner.Within(c.Groups(), runner.MarkVariable+"=former")
	must(t, os.Mkdir(empty, 0o755))
	c = w.openBy(spec)
	entries, err := os.ReadDir(c.Groups())
	must(t, err)
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
		}
	}
	if len(dirs) != 1 { // that of left
		t.Errorf("the cgroups of programs are %v", dirs)
	}
}
