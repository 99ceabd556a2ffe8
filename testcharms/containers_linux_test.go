package testcharms_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/testcharms"
	"github.com/unitd/unitd/testcharms/images"
)

// probed is a model with a unit of prober, whose image has a shell, a Pebble of its
// own, a service that is enabled and a check that fails.
type probed struct{ *world }

func newProbed(t *testing.T) probed {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("workload containers need root")
	}
	image := images.WithPebbleLayer(images.Busybox(t), "001-base", `
services:
  base: {override: replace, startup: enabled, command: sleep 1000}
checks:
  sick: {override: replace, period: 20ms, threshold: 1, exec: {command: "false"}}
`)
	w := probed{newWorldWith(t, func(c *machine.Config) { c.Cells = machine.NewCells(c.Dir, unitd(t)) })}
	t.Cleanup(func() {
		w.showErrors()
		cells := machine.NewCells(w.dir, unitd(t))
		keys, _ := cells.Keys() // what a failure has left
		for _, key := range keys {
			_ = cells.Remove(key)
		}
	})
	w.deployWith("prober", "probed-image", image)
	return w
}

// deployWith deploys a charm of this package with its image, which gets a Pebble: the
// host may have none on its PATH.
func (w probed) deployWith(charm, resource string, image images.Image) {
	w.Helper()
	program, err := os.ReadFile(pebbletest.Program(w))
	w.must(err)
	image = image.With(images.File{Name: "usr/bin/pebble", Mode: 0o755, Data: program})
	source, err := oci.ReadSource("oci-archive:" + images.WriteOCI(w, image, resource))
	w.must(err)
	cache := oci.Cache{Dir: machine.ImagesDir(w.dir)}
	resolved, err := cache.Resolve(w.ctx, source)
	w.must(err)
	defer resolved.Release()
	w.must(w.model.Deploy(w.ctx, state.DeployArgs{
		Application: charm, Charm: w.add(testcharms.CopyPython(w, charm, venvOfOps(w))), Units: 1, Isolation: model.Isolation{Mode: model.IsolateOn},
		Resources: map[string]state.Content{resource: {Image: &model.Image{Reference: resolved.Reference, Digest: resolved.Digest}}},
	}))
}

// showErrors logs what the charm has, if the test has failed.
func (w probed) showErrors() {
	text, _ := os.ReadFile(filepath.Join(machine.ModelDir(w.dir, w.model.UUID()), "debug.log"))
	for line := range strings.Lines(string(text)) {
		if w.Failed() && strings.Contains(line, "Traceback") {
			w.Log(line)
		}
	}
}

// hooks are the unit's runs, "=outcome" with those that haven't committed.
func (w probed) hooks() (names []string) {
	w.Helper()
	entries, err := history.Read(machine.HistoryDir(w.dir, w.model.UUID()), "prober/0")
	w.must(err)
	for _, e := range entries {
		name := e.Name
		if e.Outcome != history.Committed {
			name += "=" + string(e.Outcome) + " " + e.Message
		}
		names = append(names, name)
	}
	return names
}

// untilHooks waits until so many runs of a hook have committed.
func (w probed) untilHooks(name string, n int) {
	w.Helper()
	watch, err := w.model.Watch(w.ctx, 0)
	w.must(err)
	for {
		count := 0
		for _, hook := range w.hooks() {
			if hook == name {
				count++
			}
			if strings.HasPrefix(hook, name+"=") {
				w.Fatal(hook)
			}
		}
		if count >= n {
			w.settle()
			return
		}
		select {
		case _, more := <-watch:
			if !more {
				w.Fatalf("%d of %s: %q", n, name, w.hooks())
			}
		case <-time.After(time.Second): // a run is in the history a moment after its commit
		}
	}
}

// scratch is the container's directory, as the host has it.
func (w probed) scratch() string {
	return filepath.Join(filepath.Dir(w.charmDir("prober/0")), "containers", "probed")
}

// killPebble kills the container's first process.
func (w probed) killPebble() {
	w.Helper()
	records, err := filepath.Glob(filepath.Join(w.dir, "cells", "*", "*+probed", "cell.json"))
	if err != nil || len(records) != 1 {
		w.Fatal(records, err)
	}
	b, err := os.ReadFile(records[0])
	w.must(err)
	var record struct{ Pid int }
	w.must(json.Unmarshal(b, &record))
	w.must(syscall.Kill(record.Pid, syscall.SIGKILL))
}

// untilThere waits for a file in the container's scratch directory.
func (w probed) untilThere(name string) {
	w.Helper()
	watch, err := fsnotify.NewWatcher()
	w.must(err)
	defer watch.Close()
	w.must(watch.Add(w.scratch()))
	for {
		if _, err := os.Stat(filepath.Join(w.scratch(), name)); err == nil {
			return
		}
		select {
		case <-watch.Events:
		case err := <-watch.Errors:
			w.Fatal(err)
		case <-w.ctx.Done():
			w.Fatalf("%s doesn't come", name)
		}
	}
}

const ready, failed, notice = "probed-pebble-ready", "probed-pebble-check-failed", "probed-pebble-custom-notice"

// TestHostACharmDoesAllOfPebbleInItsHooks is a life of prober, which tries in each
// pebble-ready what Ops offers; its container is killed, and can't be started in
// the end.
func TestHostACharmDoesAllOfPebbleInItsHooks(t *testing.T) {
	t.Parallel()
	w := newProbed(t)
	w.copies("ledger")
	w.relate("prober", "ledger")
	w.deployWith("storer", "store-image", images.Web(t))
	w.untilHooks(ready, 1)
	w.wantStatus("prober/0", "active probed")
	w.untilHooks(notice, 1)
	w.untilHooks("db-relation-changed", 1)
	first := w.hooks()
	t.Run("K-018 to K-020", func(t *testing.T) {
		// The charm fails where Ops doesn't read what it should, and dispatch is all it has.
		called := strings.Split(strings.TrimSpace(w.file("prober/0", "hooks.log")), "\n")
		if len(called) != len(first) || !slices.Contains(called, "hooks/"+ready+" probed") || !slices.Contains(called, "hooks/install ") {
			t.Errorf("dispatch was called as %q, the hooks were %q", called, first)
		}
	})
	t.Run("K-039", func(t *testing.T) {
		if i := slices.Index(first, failed); i < 0 || !slices.Contains(first, ready) {
			t.Errorf("the hooks were %q", first)
		}
	})
	t.Run("storage and users of a unit", func(t *testing.T) {
		w.wantStatus("storer/0", "active 0 consumers")
		for _, who := range []struct{ key, is string }{{"charm", "170:170"}, {"file", "170:170"}, {"workload", "584792:170"}} {
			w.wantResult(w.act("storer/0", "whoami", nil), state.TaskCompleted, who.key, who.is)
		}
		_, err := w.model.DestroyApplication(w.ctx, "storer")
		w.must(err)
	})
	t.Run("K-033", func(t *testing.T) {
		w.killPebble()
		w.untilHooks(ready, 2)
		w.untilHooks(notice, 2)
		w.untilHooks(failed, 2)
		after := w.hooks()[len(first):]
		slices.Sort(after)
		if want := []string{failed, notice, ready}; !slices.Equal(after, want) {
			t.Errorf("the hooks were %q, want %q", after, want)
		}
	})
	t.Run("K-048", func(t *testing.T) {
		ended := make(chan state.TaskDoc, 1)
		go func() { ended <- w.act("prober/0", "hang", nil) }()
		w.untilThere("hangs")
		file := filepath.Join(w.scratch(), "pebble", ".pebble.state")
		w.must(os.Remove(file))
		w.must(os.Mkdir(file, 0o700)) // what no Pebble can read, nor replace
		w.killPebble()
		t.Run("K-058", func(t *testing.T) {
			task := <-ended
			if by, _ := task.Results["ended-by"].(string); task.Status != state.TaskCompleted || by == "" {
				t.Errorf("the action has %+v", task)
			}
		})
		w.set("ledger", "port=5433") // the unit is told, and in no error
		w.untilHooks("db-relation-changed", 2)
		w.wantStatus("prober/0", "active probed")
		if n := strings.Count(strings.Join(w.hooks(), "\n"), ready); n != 2 {
			t.Errorf("pebble-ready was run %d times: %q", n, w.hooks())
		}
	})
	t.Run("K-115", func(t *testing.T) {
		w.must(w.model.DestroyRelation(w.ctx, "prober", "ledger"))
		w.untilHooks("db-relation-departed", 1)
		w.untilHooks("db-relation-broken", 1)
	})
	t.Run("K-114", func(t *testing.T) {
		_, err := w.model.DestroyApplication(w.ctx, "prober")
		w.must(err)
		w.untilHooks("remove", 1)
		if all := w.hooks(); !slices.Equal(all[len(all)-2:], []string{"stop", "remove"}) {
			t.Errorf("the hooks were %q", all)
		}
		if keys, err := machine.NewCells(w.dir, "").Keys(); err != nil || len(keys) > 0 {
			t.Errorf("left behind: %q, %v", keys, err)
		}
	})
}
