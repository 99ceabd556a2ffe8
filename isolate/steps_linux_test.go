package isolate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// life is what an agent does with a container that dies at one of its steps.
type life struct {
	Dir, Program, Unit string
	Spec               isolate.Spec
	// Dies is the step, by its number from 1; 0: at none. When is "before", "in" or
	// "after" it.
	Dies int
	When string
}

// lifeMain lives it, in a process of its own: a container is started, stopped,
// started anew, and removed. It prints each step.
func lifeMain() int {
	var l life
	if err := json.NewDecoder(os.Stdin).Decode(&l); err != nil {
		return 1
	}
	n := 0
	cells := &isolate.Cells{Dir: l.Dir, Program: l.Program}
	cells.Disk.Around = func(s durable.Step, half, whole func() error) error {
		n++
		rel, _ := filepath.Rel(l.Dir, s.Path)
		fmt.Println(n, s.Do, rel, half != nil)
		if n != l.Dies {
			return whole()
		}
		switch {
		case l.When == "in" && half != nil:
			_ = half()
		case l.When == "after":
			_ = whole()
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	ctx := context.Background()
	key := isolate.ContainerKey(unitKey, "web")
	do := func() (err error) {
		if l.Unit != "" {
			if l.Spec.With, err = cells.Find(l.Unit); err != nil {
				return err
			}
		}
		c, err := cells.Open(ctx, key, l.Spec)
		if err != nil {
			return err
		}
		if err := c.Stop(ctx, 10*time.Millisecond); err != nil { // it may not listen to TERM yet
			return err
		}
		if _, err := cells.Open(ctx, key, l.Spec); err != nil {
			return err
		}
		return cells.Clear(key)
	}
	if err := do(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// live has another process live it, and is what that prints, and whether it died.
func live(t *testing.T, l life) (steps []string, died bool) {
	t.Helper()
	b, err := json.Marshal(l)
	must(t, err)
	cmd := exec.Command(l.Program, "life")
	cmd.Stdin = strings.NewReader(string(b))
	out, err := cmd.Output()
	if l.Dies == 0 && err != nil || err != nil && err.Error() != "signal: killed" {
		t.Fatalf("at %d: %v: %s", l.Dies, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err != nil
}

// TestHostAnAgentThatDiesAtAnyStepLosesAndDoublesNoContainer: the next one finds or
// starts one, and removes all there is.
func TestHostAnAgentThatDiesAtAnyStepLosesAndDoublesNoContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unit := w.open("app/0", model.IsolateFiles)
	spec := w.container("web", unit, "wait")
	l := life{Dir: w.cells.Dir, Program: w.cells.Program, Unit: unitKey, Spec: spec}
	steps, _ := live(t, l)
	for _, s := range []string{"mkdir", "begin", "go-ahead", "end", "rename", "remove"} {
		if !slices.ContainsFunc(steps, func(line string) bool { return strings.Fields(line)[1] == s }) {
			t.Errorf("no step is %q: %q", s, steps)
		}
	}
	c := w.start("web", spec)
	groups := groupsOf(t, c.Pid())
	must(t, w.cells.Clear(isolate.ContainerKey(unitKey, "web")))
	for l.Dies = 1; ; l.Dies++ {
		for _, then := range []string{"opens", "removes"} {
			for _, l.When = range []string{"in", "after"} { // which is before the one that follows
				said, died := live(t, l)
				if !died {
					if l.Dies < len(steps)-1 { // the directory of the cgroups may be there or not
						t.Errorf("it dies at no step after %d, of %d", l.Dies, len(steps))
					}
					return
				}
				step := said[len(said)-1]
				next(t, w, spec, fmt.Sprintf("%s it, and the next one %s", l.When, then), step, then == "opens", groups)
				if !strings.HasSuffix(step, "true") {
					break // it can't be in it
				}
			}
		}
	}
}

// next is the agent after one that has died.
func next(t *testing.T, w *world, spec isolate.Spec, when, step string, opens bool, groups []string) {
	t.Helper()
	key := isolate.ContainerKey(unitKey, "web")
	w.cells = &isolate.Cells{Dir: w.cells.Dir, Program: w.cells.Program}
	if opens {
		was, _ := w.cells.Find(key)
		c := w.start("web", spec)
		first := firstsIn(t, w.dir)
		for strings.Contains(step, " end ") && !c.Running() { // it had got TERM
			c = w.start("web", spec)
			first = firstsIn(t, w.dir)
		}
		if was != nil && was.Running() && was.Pid() != c.Pid() {
			t.Errorf("%s, %s: there were two", step, when)
		}
		if !slices.Equal(first, []int{c.Pid()}) {
			t.Errorf("%s, %s: %d are there, want %d", step, when, first, c.Pid())
		}
	}
	must(t, w.cells.Clear(key))
	if first := firstsIn(t, w.dir); len(first) > 0 {
		t.Errorf("%s, %s: %d are left", step, when, first)
	}
	if keys, err := w.cells.Keys(); err != nil || !slices.Equal(keys, []string{unitKey}) {
		t.Errorf("%s, %s: %q is left, %v", step, when, keys, err)
	}
	for _, g := range groups {
		if _, err := os.Stat(g); !os.IsNotExist(err) {
			t.Errorf("%s, %s: the cgroup %s is left", step, when, g)
		}
	}
}

// firstsIn are the processes that are the first of workload containers which have
// something of a directory, also those that are being made.
func firstsIn(t *testing.T, dir string) (pids []int) {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	must(t, err)
	for _, p := range procs {
		b, err := os.ReadFile(p)
		if err != nil || !strings.Contains(string(b), scratch+" ") && !strings.Contains(string(b), "+web/") {
			continue
		}
		var pid int
		_, _ = fmt.Sscanf(p, "/proc/%d/", &pid)
		if strings.Contains(string(b), filepath.Join(dir, "scratch", "web")) && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}
