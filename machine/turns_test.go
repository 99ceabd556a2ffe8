package machine_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// together is a world with a principal and its subordinate on one machine, whose
// config-changed runs a script with "." once there is one, and a third unit on
// another machine. ran has the names of the units whose config-changed ended.
type together struct {
	*world
	dir string
	ran chan model.UnitName
}

func newTogether(t *testing.T) *together {
	g := &together{dir: t.TempDir(), ran: make(chan model.UnitName, 100)}
	g.world = newWorldWith(t, func(c *machine.Config) {
		c.Observer = func(e machine.Event) {
			if e.Kind == machine.HookRun && e.Run.Outcome == history.Committed && e.Run.Name == "config-changed" {
				g.ran <- e.Unit
			}
		}
	})
	run := `
script="` + g.dir + `/${JUJU_UNIT_NAME%/*}"
[ "$JUJU_HOOK_NAME" != config-changed ] || [ ! -e "$script" ] || . "$script"
`
	g.deploy("host", g.charm("name: host\nsummary: s\n", run), 1)
	g.deploy("other", g.charm("name: host\nsummary: s\n", run), 1)
	g.deploy("guest", g.charm(`
name: guest
summary: s
subordinate: true
requires: {host: {interface: juju-info, scope: container}}
`, run), 0)
	if _, err := g.model.AddRelation(g.ctx, "guest:host", "host"); err != nil {
		t.Fatal(err)
	}
	g.settle()
	for range 3 {
		<-g.ran
	}
	return g
}

// does gives an application's config-changed something to do.
func (g *together) does(app, script string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, app), []byte("cd "+g.dir+"\n"+script), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// change has an application's config-changed run, by a change that no charm sees.
func (g *together) change(app string) {
	g.t.Helper()
	doc, err := g.model.Application(g.ctx, app)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.model.SetTrust(g.ctx, app, !doc.Trust); err != nil {
		g.t.Fatal(err)
	}
}

func (g *together) fifo(name string) string {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		g.t.Fatal(err)
	}
	return path
}

// TestUPRC1TwoUnitsOnOneMachine never run hooks at once; with lock groups they
// do, from the next hook on.
func TestUPRC1TwoUnitsOnOneMachine(t *testing.T) {
	t.Parallel()
	g := newTogether(t)
	begun, end := g.fifo("begun"), g.fifo("end")
	g.does("host", "echo host begins >>log; echo >begun; read x <end; echo host ends >>log\n")
	g.does("guest", "echo guest begins >>log; echo guest ends >>log\n")

	const rounds = 5
	for range rounds {
		g.change("host")
		g.read(begun)
		// A unit of another machine that is told later runs its hook: the guest
		// has had its chance.
		g.change("guest")
		g.change("other")
		if unit := <-g.ran; unit != "other/0" {
			t.Errorf("%s ran its hook while host/0 did", unit)
		}
		g.write(end)
		<-g.ran
		<-g.ran
	}
	want := strings.Repeat("host begins\nhost ends\nguest begins\nguest ends\n", rounds)
	if b, err := os.ReadFile(filepath.Join(g.dir, "log")); err != nil || string(b) != want {
		t.Errorf("%v, got:\n%s", err, b)
	}

	// Each of the two waits for the other one: neither would end alone. The
	// groups change while a hook runs: that one isn't affected, the next ones are.
	g.change("host")
	g.read(begun)
	if err := g.model.SetLockGroup(g.ctx, "guest", "apart"); err != nil {
		t.Fatal(err)
	}
	g.change("guest")
	if unit := <-g.ran; unit != "guest/0" {
		t.Errorf("%s ran first", unit)
	}
	g.write(end)
	<-g.ran
	g.fifo("there")
	g.fifo("back")
	g.does("host", "echo >there; read x <back\n")
	g.does("guest", "read x <there; echo >back\n")
	g.change("host")
	g.change("guest")
	<-g.ran
	<-g.ran

	// Two applications in one group wait for each other again.
	if err := g.model.SetLockGroup(g.ctx, "host", "apart"); err != nil {
		t.Fatal(err)
	}
	g.does("host", "mkdir one; echo >begun; read x <end; rmdir one\n")
	g.does("guest", "mkdir one; rmdir one\n")
	g.change("host")
	g.read(begun)
	g.change("guest")
	g.change("other")
	if unit := <-g.ran; unit != "other/0" {
		t.Errorf("%s ran its hook while host/0 did", unit)
	}
	g.write(end)
	<-g.ran
	<-g.ran
	g.settle()
}

// read and write wait for the other end of a named pipe.
func (g *together) read(fifo string) {
	g.t.Helper()
	if _, err := os.ReadFile(fifo); err != nil {
		g.t.Fatal(err)
	}
}

func (g *together) write(fifo string) {
	g.t.Helper()
	if err := os.WriteFile(fifo, []byte("x\n"), 0); err != nil {
		g.t.Fatal(err)
	}
}
