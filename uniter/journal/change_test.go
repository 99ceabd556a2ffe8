package journal

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/uniter/resolver"
)

// drawLocal is anything that an agent may remember.
func drawLocal(t *rapid.T) resolver.Local {
	l := pendingRun(rapid.Int64Range(0, 1000).Draw(t, "run"))
	l.Started = rapid.Bool().Draw(t, "started")
	l.Charm = rapid.StringOfN(rapid.RuneFrom([]rune("ab\n")), 0, 400, -1).Draw(t, "charm")
	if rapid.Bool().Draw(t, "idle") {
		l.Current = nil
	}
	for _, c := range []string{"db", "web"} {
		if rapid.Bool().Draw(t, "told of "+c) {
			if l.Workloads == nil {
				l.Workloads = map[string]resolver.WorkloadTold{}
			}
			l.Workloads[c] = drawTold(t, c)
		}
	}
	for id := range model.RelationID(4) {
		if rapid.IntRange(0, 3).Draw(t, "related") == 0 {
			continue
		}
		s := relation.State{ID: id, Endpoint: "db", RemoteApp: "b", Created: rapid.Bool().Draw(t, "created")}
		s.Application = rapid.IntRange(0, 2).Draw(t, "application")
		for i := range 4 {
			if v := rapid.IntRange(0, 2).Draw(t, "version"); v > 0 {
				s.Members = s.Members.With(model.NewUnitName("b", i*5), v)
			}
		}
		if l.Relations == nil {
			l.Relations = map[model.RelationID]relation.State{}
		}
		l.Relations[id] = s
	}
	return l
}

// drawTold is anything that a charm may have been told of a container.
func drawTold(t *rapid.T, container string) resolver.WorkloadTold {
	told := resolver.WorkloadTold{Boot: fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "boot"))}
	at := time.Unix(0, rapid.Int64Range(0, 1<<60).Draw(t, "after")).UTC()
	if rapid.Bool().Draw(t, "noticed") {
		told.After = at
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "failed") {
		told.Failed = append(told.Failed, resolver.FailedWorkload{
			Hook: hooks.Info{Kind: hooks.PebbleCustomNotice, Workload: container, NoticeID: fmt.Sprint(i), NoticeType: "custom", NoticeKey: "a.b/c", NoticeAt: at},
			Run:  int64(i), Attempts: i + 1, RetryAt: at.Add(resolver.WorkloadRetry), Failure: resolver.Failure{Message: "exit status 1", Exit: 1, At: at},
		})
	}
	return told
}

func asJSON(t rapid.TB, l resolver.Local) string {
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestADifferenceMakesTheLaterOneOfTheEarlier(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawLocal(t), drawLocal(t)
		before := asJSON(t, from)
		b, err := json.Marshal(difference(from, to))
		if err != nil {
			t.Fatal(err)
		}
		var c change
		if err := json.Unmarshal(b, &c); err != nil {
			t.Fatal(err)
		}
		if got, want := asJSON(t, c.after(from)), asJSON(t, to); got != want {
			t.Fatalf("by %s got\n%s\nwant\n%s", b, got, want)
		}
		if asJSON(t, from) != before {
			t.Fatal("it has changed what it was given")
		}
	})
}

// Whatever is stored, in however many records, by however many agents one after
// the other: what was stored last is found.
func TestWhatWasStoredLastIsFound(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		j, _, err := Open(durable.Disk{}, dir, unit, id)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { j.Close() }()
		j.io.sync = func(*durable.File) error { return nil }
		for range rapid.IntRange(1, 30).Draw(t, "records") {
			l := drawLocal(t)
			if rapid.IntRange(0, 9).Draw(t, "large") == 0 {
				l.Charm = fmt.Sprintf("%*d", rapid.IntRange(1, 60_000).Draw(t, "size"), 1)
			}
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				j.Close()
				if j, _, err = Open(durable.Disk{}, dir, unit, id); err != nil {
					t.Fatal(err)
				}
				j.io.sync = func(*durable.File) error { return nil }
			}
			if err := j.Store(l); err != nil {
				t.Fatal(err)
			}
			got, there, err := Read(dir)
			if err != nil || !there || asJSON(t, got) != asJSON(t, l) {
				t.Fatalf("stored\n%s\nfound (%t, %v)\n%s", asJSON(t, l), there, err, asJSON(t, got))
			}
		}
	})
}

// joining stores what an agent does that joins so many members, and returns how
// many bytes were written for each.
func joining(t testing.TB, members int) float64 {
	t.Helper()
	j, _ := open(t, t.TempDir())
	bytes := 0
	j.io.sync = func(*durable.File) error { return nil }
	j.io.writeAt = func(_ *durable.File, b []byte, _ int64) error {
		bytes += len(written(b))
		return nil
	}
	l := pendingRun(0)
	state := relation.State{ID: 1, Endpoint: "ring", RemoteApp: "app", Peer: true, Created: true}
	for i := range members {
		for _, kind := range []hooks.Kind{hooks.RelationJoined, hooks.RelationChanged} {
			h := hooks.Info{
				Kind: kind, Endpoint: "ring", RelationID: 1, RemoteApp: "app", Version: 1,
				RemoteUnit: model.NewUnitName("app", i+1), Cause: fmt.Sprintf("app/%d joined", i+1),
			}
			l.Run++
			l.Ended = resolver.Ended{Hook: h, Run: l.Run - 1, How: resolver.EndedCommitted}
			l.Current = &resolver.Current{Hook: h, Run: l.Run, Step: resolver.Pending}
			l.Relations = map[model.RelationID]relation.State{1: state}
			if err := j.Store(l); err != nil {
				t.Fatal(err)
			}
			state = state.After(h)
		}
	}
	return float64(bytes) / float64(members)
}

func TestAMemberCostsTheSameHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	few, many := joining(t, 100), joining(t, 2000)
	if many > 1.5*few {
		t.Errorf("%.0f bytes a member of 100, %.0f of 2,000", few, many)
	}
}

// BenchmarkJoin measures what is written for each member of a relation that
// joins.
func BenchmarkJoin(b *testing.B) {
	for _, members := range []int{100, 500, 2000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			bytes := 0.0
			for b.Loop() {
				bytes = joining(b, members)
			}
			b.ReportMetric(bytes, "bytes/member")
		})
	}
}
