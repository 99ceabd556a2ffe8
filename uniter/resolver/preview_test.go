package resolver_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/uniter/sim"
)

// TestMain has a hundred histories looked at, however few are elsewhere: they take
// milliseconds, and fewer would have too little in them.
func TestMain(m *testing.M) {
	flag.Parse()
	const enough = 100
	if n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String()); err == nil && n < enough {
		_ = flag.Set("rapid.checks", strconv.Itoa(enough))
	}
	os.Exit(m.Run())
}

// What a preview says of a failed run's answer is exactly what happens once it
// is given, whatever has happened before and is due.
func TestAPreviewIsWhatThenHappens(t *testing.T) {
	t.Parallel()
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		w := sim.New("app/0", "ch:1", rapid.Bool().Draw(t, "leader"))
		h := &history{T: t, w: &w, related: map[string]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"model": h.model,
			"agent": h.agent,
			"work":  h.work,
			"answer": func(t *rapid.T) {
				c := h.w.Local.Current
				if h.w.Busy() || c == nil || c.Step != resolver.Failed || h.w.Model.Resolved.Run == c.Run {
					t.Skip("nothing has failed")
				}
				mode := rapid.SampledFrom([]resolver.Mode{resolver.RunAgain, resolver.SkipIt}).Draw(t, "mode")
				h.check(fmt.Sprintf("previews %s", mode), previewed(w, mode))
				seen++
			},
		})
	})
	if seen < 100 {
		t.Errorf("only %d previews were looked at", seen)
	}
}

// previewed plays an answer in a copy of the world, and says where that isn't
// what its preview says.
func previewed(w sim.World, mode resolver.Mode) error {
	ops, err := resolver.Preview(w.Local, mode, func(l resolver.Local) (resolver.Remote, error) {
		r := w.Model
		if l.Charm == "" {
			r.Relations = nil
		}
		return r, nil
	})
	if err != nil {
		return err
	}
	act := map[resolver.Mode]string{resolver.RunAgain: "resolved", resolver.SkipIt: "resolved-no-retry"}[mode]
	if ok, err := w.Act(act); err != nil || !ok {
		return fmt.Errorf("%s: %v, %v", act, ok, err)
	}
	for i, want := range ops {
		got := w.Decide()
		if got.Verb != want.Verb || got.Hook != want.Hook || got.Charm != want.Charm {
			return fmt.Errorf("operation %d is %s %s %s, the preview has %s %s %s", i+1,
				got.Verb, got.Hook, got.Charm, want.Verb, want.Hook, want.Charm)
		}
		switch want.Verb {
		case resolver.RunHook, resolver.Idle, resolver.Terminate:
			return nil
		}
		if err := w.Do(sim.Well); err != nil {
			return err
		}
	}
	return fmt.Errorf("the preview has no end: %d operations", len(ops))
}
