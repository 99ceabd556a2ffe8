package machine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// entries is the history of a unit.
func (w *world) entries(unit model.UnitName) []history.Entry {
	w.t.Helper()
	all, err := history.Read(machine.HistoryDir(w.dir, w.model.UUID()), unit)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// TestACharmThatAHookHasRemovedIsDeployedAgain before the next hook, which
// would count as one that the charm doesn't have.
func TestACharmThatAHookHasRemovedIsDeployedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hook, remove string
		want         []string
	}{
		"the whole directory, in install": {"install", `rm -rf "$CHARM_DIR"`,
			[]string{"install", "upgrade-charm", "leader-elected", "config-changed", "start"}},
		"the marker": {"install", `rm "$CHARM_DIR/.unitd-charm"`,
			[]string{"install", "upgrade-charm", "leader-elected", "config-changed", "start"}},
		"the whole directory, before start": {"config-changed", `rm -rf "$CHARM_DIR"`,
			[]string{"install", "leader-elected", "config-changed", "start", "upgrade-charm", "config-changed"}},
		"and the hook fails": {"config-changed", `rm -rf "$CHARM_DIR"; exit 1`,
			[]string{"install", "leader-elected", "config-changed failed", "config-changed", "start", "upgrade-charm", "config-changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.noRetries()
			flag := filepath.Join(t.TempDir(), "flag")
			w.deploy("app", w.charm(plain, `
[ "$JUJU_HOOK_NAME" != `+c.hook+` ] || [ -e `+flag+` ] || { touch `+flag+`; `+c.remove+`; }
`), 1)
			w.settle()
			if all := w.entries("app/0"); all[len(all)-1].Outcome == history.Failed {
				if err := w.model.Resolve(w.ctx, "app/0", true); err != nil {
					t.Fatal(err)
				}
				w.settle()
			}
			w.wantHooks("app/0", c.want...)
			for _, e := range w.entries("app/0") {
				if e.Missing {
					t.Errorf("%s was taken as one that the charm doesn't have", e.Name)
				}
			}
			if _, err := os.Stat(filepath.Join(w.unitDir("app/0"), "charm", "dispatch")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAHookThatRemovesTheSocketHarmsNoOther: the next ones have their tools.
func TestAHookThatRemovesTheSocketHarmsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.noRetries()
	w.deploy("app", w.charm(plain, `
state-set "$JUJU_HOOK_NAME"=ran
rm "${JUJU_AGENT_SOCKET_ADDRESS#unix:}"
`), 1)
	w.settle()
	w.wantHooks("app/0", boot...)
	got, err := w.model.CharmState(w.ctx, "app/0")
	if err != nil || len(got) != len(boot) {
		t.Errorf("the hooks have left %v, %v", got, err)
	}
}

// TestAFailureIsToldInWholeCharacters, and once.
func TestAFailureIsToldInWholeCharacters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.noRetries()
	w.deploy("app", w.charm(plain, "echo "+strings.Repeat("a", 399)+"éé >&2; exit 3\n"), 1)
	w.settle()
	want := "exit status 3: " + strings.Repeat("a", 399) + "…"
	if all := w.entries("app/0"); len(all) != 1 || all[0].Message != want {
		t.Errorf("got %+v, want one with %q", all, want)
	}
}

// TestAHookThatCannotBeStartedIsLoggedOnce, with its reason.
func TestAHookThatCannotBeStartedIsLoggedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"no such interpreter": {"#!/no/such -x\n", `cannot run install: its interpreter "/no/such" is not on this machine`},
		"CR LF": {"#! /bin/sh\r\ntrue\r\n",
			`cannot run install: its interpreter "/bin/sh\r" is not on this machine (\r: end its lines with LF, not CR LF)`},
		"not a script": {"true\n", "cannot run install: it is neither a program for this machine nor a script that begins with #!"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.noRetries()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "hooks"), 0o755); err != nil {
				t.Fatal(err)
			}
			for file, body := range map[string]string{"metadata.yaml": plain, "hooks/install": c.body} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(body), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			w.deploy("app", w.add(dir), 1)
			w.settle()
			log, err := os.ReadFile(machine.LogPath(w.dir, w.model.UUID()))
			if err != nil {
				t.Fatal(err)
			}
			lines := slices.DeleteFunc(strings.Split(string(log), "\n"), func(l string) bool { return !strings.Contains(l, "cannot run") })
			if len(lines) != 1 || !strings.Contains(lines[0], "failed: cannot run install") {
				t.Errorf("the log has %q", lines)
			}
			if all := w.entries("app/0"); len(all) != 1 || all[0].Message != c.want {
				t.Errorf("got %+v, want one with %q", all, c.want)
			}
		})
	}
}
