package isolate_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// secretive makes a world whose directory is where the host's root shows it, and
// a shared directory too, with a key and the directories of two units.
func secretive(t *testing.T) (w *world, spec isolate.Spec) {
	t.Helper()
	above, err := os.MkdirTemp("/var/tmp", "unitd-isolate-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(above) })
	return secretiveIn(t, above)
}

func secretiveIn(t *testing.T, above string) (w *world, spec isolate.Spec) {
	t.Helper()
	w = newWorld(t)
	t.Cleanup(func() { w.end() }) // before the directory goes
	w.dir = filepath.Join(above, "data")
	w.cells.Dir = filepath.Join(w.dir, "cells")
	for path, text := range map[string]string{
		"secret.key": "secret", "agents/unit-app-0/mine": "mine", "agents/unit-app-1/theirs": "theirs", "agents/unit-sub-0/sub": "sub",
	} {
		path = filepath.Join(w.dir, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(above, "beside"), []byte("beside"), 0o600))
	spec = w.spec("app/0", model.IsolateFiles)
	return w, spec
}

func (w *world) openBy(spec isolate.Spec) *isolate.Cell {
	w.t.Helper()
	c, err := w.cells.Open(context.Background(), key(spec.Name), spec)
	if errors.Is(err, isolate.ErrNoRights) {
		w.t.Skipf("not here: %v", err)
	}
	must(w.t, err)
	return c
}

// TestACellSeesOfItsAgentsFilesWhatWasAttached and nothing else, over the host's
// root as in a directory that is shared with it.
func TestACellSeesOfItsAgentsFilesWhatWasAttached(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"over the host's root": false, "in a shared directory": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, spec := secretive(t)
			if shared {
				spec.Shared = []string{filepath.Dir(w.dir)}
			}
			seeOwn(t, w, w.openBy(spec))
		})
	}
}

func seeOwn(t *testing.T, w *world, c *isolate.Cell) {
	t.Helper()
	const agents = isolate.Juju + "/agents"
	attach := func(unit string) {
		t.Helper()
		must(t, c.Attach(unit, filepath.Join(w.dir, "agents", unit), filepath.Join(agents, unit)))
	}
	want(t, c, "ls -A "+agents+" "+w.dir+"; cat "+filepath.Dir(w.dir)+"/beside", agents+":\n\n"+w.dir+":\nbeside")
	attach("unit-app-0")
	attach("unit-app-0") // again, as the next agent does
	want(t, c, "cat "+agents+"/*/mine; echo written >"+agents+"/unit-app-0/new; ls -A "+agents+" "+w.dir, "mine"+agents+":\nunit-app-0\n\n"+w.dir+":")
	if b, err := os.ReadFile(filepath.Join(w.dir, "agents/unit-app-0/new")); string(b) != "written\n" {
		t.Errorf("the host has %q, %v", b, err)
	}
	attach("unit-sub-0")
	want(t, c, "ls "+agents+"; cat "+agents+"/unit-sub-0/sub", "unit-app-0\nunit-sub-0\nsub")
	want(t, c, "grep -c "+agents+" /proc/mounts", "2")
	// A directory that was made anew is another one.
	must(t, os.RemoveAll(filepath.Join(w.dir, "agents/unit-sub-0")))
	must(t, os.Mkdir(filepath.Join(w.dir, "agents/unit-sub-0"), 0o755))
	attach("unit-sub-0")
	want(t, c, "touch "+agents+"/unit-sub-0/new; ls "+agents+"/unit-sub-0", "new")
	must(t, c.Detach("unit-sub-0", agents+"/unit-sub-0"))
	must(t, c.Detach("unit-sub-0", agents+"/unit-sub-0"))
	want(t, c, "ls "+agents, "unit-app-0")
	if err := c.Attach("other", w.dir, agents+"/unit-app-0"); !errors.Is(err, errors.AlreadyExists) {
		t.Errorf("something else in its place: %v", err)
	}
	if err := c.Attach("none", w.dir+"/none", "/srv/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what isn't there: %v", err)
	}
	if err := c.Attach("file", w.dir+"/agents", "/etc/passwd"); err == nil {
		t.Error("attached in the place of a file")
	}
	// Its place is what the cell has of the directory of the data, too.
	must(t, c.Attach("data/0", w.dir+"/agents/unit-app-1", w.dir+"/storage/fs"))
	want(t, c, "cat "+w.dir+"/storage/fs/theirs; ls "+w.dir, "theirsstorage")
	must(t, c.AttachBind("data/1", isolate.Bind{From: w.dir + "/agents/unit-app-1", To: "/srv/read", ReadOnly: true}))
	want(t, c, "cat /srv/read/theirs; touch /srv/read/new 2>/dev/null || echo refused", "theirsrefused")
	endInit(t, c)
	if err := c.Attach("unit-app-0", w.dir, agents+"/unit-app-0"); err == nil {
		t.Error("attached to a cell that has ended")
	}
}

// TestACellOfAFormerLayoutIsMadeAnew: it sees what a cell isn't to see.
func TestACellOfAFormerLayoutIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	want(t, c, "echo kept >/etc/kept; echo gone >/run/gone; umask", "0022")
	path := filepath.Join(c.Dir(), "cell.json")
	b, err := os.ReadFile(path)
	must(t, err)
	former := []byte(`{"layout":1,` + string(b[1:]))
	former = []byte(strings.Replace(string(former), `"layout":4,`, "", 1))
	must(t, os.WriteFile(path, former, 0o600))
	boots := c.Boots()
	c = w.open("app/0", model.IsolateFiles)
	want(t, c, "cat /etc/kept; ls /run", "kept\nlock")
	if c.Boots() != boots+1 {
		t.Errorf("%d boots, were %d", c.Boots(), boots)
	}
}

// TestACellWhoseRecordsHaveLostTheirContentIsMadeAnew, as after a power cut: they counted until then.
func TestACellWhoseRecordsHaveLostTheirContentIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	want(t, c, "echo kept >/etc/kept; echo gone >/run/gone; umask", "0022")
	must(t, os.MkdirAll(filepath.Join(w.dir, "agents", "unit-app-1"), 0o755))
	for _, content := range []string{"", "\x00\x00"} {
		endInit(t, c)
		for _, name := range []string{"cell.json", "attached.json"} {
			must(t, os.WriteFile(filepath.Join(c.Dir(), name), []byte(content), 0o600))
		}
		if _, err := w.cells.Find(key("app/0")); !errors.Is(err, errors.NotFound) {
			t.Errorf("there is something of it: %v", err)
		}
		c = w.open("app/0", model.IsolateFiles)
		want(t, c, "cat /etc/kept; ls /run", "kept\nlock")
		must(t, c.Attach("data/0", filepath.Join(w.dir, "agents", "unit-app-1"), "/srv/data"))
	}
	endInit(t, c)
	must(t, os.Truncate(filepath.Join(c.Dir(), "cell.json"), 0))
	must(t, w.cells.Remove(key("app/0")))
}
