package machine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/resolver"
)

// TestACharmThatCannotBePutInPlaceLeavesTheOldOne, and the unit's status says
// why; going back to the old one is all that it takes.
func TestACharmThatCannotBePutInPlaceLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// What a hook has made under a name with which the new charm has a file can't
	// be kept beside it: the name would be too long.
	long := strings.Repeat("x", 253)
	w.deploy("app", w.charm(plain, "[ -e "+long+" ] || echo hook >"+long+"; status-set active serving\n"), 1)
	w.settle()
	dir := t.TempDir()
	for name, body := range map[string]string{"metadata.yaml": plain, "dispatch": "#!/bin/sh\nexit 1\n", long: "charm"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.model.SetCharm(w.ctx, "app", w.add(dir), false); err != nil {
		t.Fatal(err)
	}
	w.until("the status says that the charm can't be deployed", func(s *state.FullStatus) bool {
		u := s.Applications[0].Units[0]
		return u.Agent.Status == model.StatusFailed && strings.Contains(u.Agent.Message, "cannot unpack charm local:app-1") &&
			u.Workload.Status == model.StatusActive && u.UnitDoc.Charm == "local:app-0"
	})
	b, err := os.ReadFile(filepath.Join(w.unitDir("app/0"), "charm", long))
	if err != nil || string(b) != "hook\n" {
		t.Errorf("the hook's file has %q, %v", b, err)
	}
	if _, err := w.model.Rollback(w.ctx, "app", state.FormerRevision); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.wantHooks("app/0", boot...)
}

// TestAnOutlookIsGoneWithItsFailure: what an agent has published of a failed run
// is there as long as the unit is in error by that run, and no longer.
func TestAnOutlookIsGoneWithItsFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.noRetries()
	flag := filepath.Join(t.TempDir(), "flag")
	w.deploy("app", w.charm(plain, `[ "$JUJU_HOOK_NAME" != start ] || [ -e `+flag+` ] || { state-set a=b; echo no >&2; exit 2; }`), 1)
	w.settle()
	o, err := machine.Preview(w.ctx, w.model, "app/0", resolver.SkipIt, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f := o.Failed.Failure
	if o.Failed.Run != 4 || f.Exit != 2 || strings.Join(f.Output, "|") != "no" || strings.Join(f.Dropped, "|") != "state a=b" {
		t.Errorf("the failure is %+v, %+v", o.Failed, f)
	}
	if last := o.Ops[len(o.Ops)-1]; last.Verb != resolver.Idle {
		t.Errorf("after a skip comes %+v", last)
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.model.Resolve(w.ctx, "app/0", true); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if _, err := machine.Preview(w.ctx, w.model, "app/0", resolver.SkipIt, time.Now()); !errors.Is(err, errors.NotValid) {
		t.Errorf("no hook has failed: %v", err)
	}
	// A failure of which nothing was published isn't taken for another one.
	if err := w.model.Tell(w.ctx, "app/0", state.Report{Failed: &state.FailureDoc{Run: 99}}); err != nil {
		t.Fatal(err)
	}
	if _, err := machine.Preview(w.ctx, w.model, "app/0", resolver.SkipIt, time.Now()); !errors.Is(err, errors.NotFound) {
		t.Errorf("nothing is known of it: %v", err)
	}
}
