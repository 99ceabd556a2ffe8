package resolver_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/resolver"
)

func TestRetriesWaitTwiceAsLongEachTimeAndFiveMinutesAtMost(t *testing.T) {
	t.Parallel()
	for _, jitter := range []float64{0, -1, 1} {
		l, r := situation(t, "charm")
		now := noon
		for i, seconds := range []float64{5, 10, 20, 40, 80, 160, 300, 300, 300} {
			r.Now, r.Retry = now, true
			op := resolver.Next(l, r)
			if op.Verb != resolver.RunHook {
				t.Fatalf("attempt %d: %+v", i, op)
			}
			l = resolver.After(l, op, resolver.Event{Kind: resolver.Began, At: now})
			l = resolver.After(l, op, resolver.Event{Kind: resolver.Broke, At: now, Jitter: jitter})
			want := time.Duration(seconds * (1 + jitter*resolver.RetrySpread) * float64(time.Second))
			idle := resolver.Next(l, r)
			if got := idle.Until.Sub(now); idle.Verb != resolver.Idle || got != want {
				t.Errorf("attempt %d with jitter %v: %s for %v, want %v", i, jitter, idle.Verb, got, want)
			}
			now = idle.Until
		}
	}
}

func TestUpdateStatusComesAtItsSpreadInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jitter float64
		want   time.Duration
	}{{0, 5 * time.Minute}, {1, 6 * time.Minute}, {-1, 4 * time.Minute}} {
		l, r := situation(t, "settled")
		r.StatusInterval = 5 * time.Minute
		l.StatusJitter = c.jitter
		op := resolver.Next(l, r)
		if got := op.Until.Sub(noon); op.Verb != resolver.Idle || got != c.want {
			t.Errorf("jitter %v: %s for %v, want %v", c.jitter, op.Verb, got, c.want)
		}
	}
}

func TestUpdateStatusCountsFromWhatPassesForARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ passed, want time.Duration }{{-time.Hour, 5 * time.Minute}, {time.Hour, 65 * time.Minute}} {
		l, r := situation(t, "settled")
		r.StatusInterval, r.StatusPassed = 5*time.Minute, noon.Add(c.passed)
		op := resolver.Next(l, r)
		if got := op.Until.Sub(noon); op.Verb != resolver.Idle || got != c.want {
			t.Errorf("passed %v: %s for %v, want %v", c.passed, op.Verb, got, c.want)
		}
	}
}

func TestRunsAreNumberedOnFromTheNewestThatAnybodyKnows(t *testing.T) {
	t.Parallel()
	l, r := situation(t, "charm")
	l.Run, r.Committed, r.Resolved.Run = 4, 4, 9
	if op := resolver.Next(l, r); op.Run != 10 {
		t.Errorf("got run %d, want 10: the model has an answer to run 9", op.Run)
	}
	l.Run = 11
	if op := resolver.Next(l, r); op.Run != 12 {
		t.Errorf("got run %d, want 12: the journal knows of run 11", op.Run)
	}
}

func TestInterruptedIsAFailureThatSaysSo(t *testing.T) {
	t.Parallel()
	l, r := situation(t, "settled pending:config-changed")
	l = resolver.After(l, resolver.Next(l, r), resolver.Event{Kind: resolver.Done, At: noon})
	c := l.Current
	if c == nil || c.Step != resolver.Failed || c.Attempts != 1 || !c.RetryAt.Equal(noon.Add(resolver.RetryFirst)) {
		t.Fatalf("got %+v", c)
	}
	if f := c.Failure; !f.Interrupted || f.Exit != -1 || f.Message == "" || !f.At.Equal(noon) {
		t.Errorf("got %+v", f)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, situation, deployed string
		check                     func(resolver.Local) bool
	}{
		{"the same charm: nothing is different", "settled pending:start", "ch:1",
			func(l resolver.Local) bool { return l.Current != nil && !l.Upgraded }},
		{"another charm: upgrade-charm is owed", "settled", "ch:2",
			func(l resolver.Local) bool { return l.Upgraded && l.Charm == "ch:2" }},
		{"another charm, after a run whose commit was not recorded", "settled pending:upgrade-charm", "ch:2",
			func(l resolver.Local) bool { return l.Upgraded && l.Current == nil && l.Seen.Config == "" }},
		{"another charm, after an install whose commit was not recorded", "charm pending:install", "ch:2",
			func(l resolver.Local) bool { return l.Upgraded && l.Installed && l.Current == nil }},
		{"another charm in error: upgrade-charm is not owed", "settled failed:start", "ch:2",
			func(l resolver.Local) bool { return !l.Upgraded && l.Charm == "ch:2" && l.Current != nil }},
		{"the first charm: upgrade-charm is not owed", "", "ch:1",
			func(l resolver.Local) bool { return !l.Upgraded && l.Charm == "ch:1" }},
		{"no charm: it was lost", "settled pending:start", "",
			func(l resolver.Local) bool { return l.Charm == "" && l.Current != nil }},
		{"the charm is back after it was lost", "settled lost", "ch:1",
			func(l resolver.Local) bool { return l.Upgraded && l.Charm == "ch:1" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, _ := situation(t, c.situation)
			asGiven, _ := situation(t, c.situation)
			got := resolver.Resume(l, c.deployed, noon)
			if !c.check(got) {
				t.Errorf("got %+v", got)
			}
			if !reflect.DeepEqual(l, asGiven) {
				t.Error("it changed what it was given")
			}
		})
	}
}

func TestARunThatIsStoppedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l, r := situation(t, "settled config2")
	op := resolver.Next(l, r)
	l = resolver.After(l, op, resolver.Event{Kind: resolver.Began, At: noon})
	l = resolver.After(l, op, resolver.Event{Kind: resolver.Requeued, At: noon})
	if l.Current != nil || l.Seen.Config != "1" {
		t.Fatalf("got %+v", l)
	}
	if again := resolver.Next(l, r); again.Hook.Kind != hooks.ConfigChanged || again.Run != op.Run+1 {
		t.Errorf("got %+v", again)
	}
}

func TestATaskLeavesTheFailedHookWaiting(t *testing.T) {
	t.Parallel()
	for _, end := range []resolver.EventKind{resolver.Done, resolver.Broke} {
		l, r := situation(t, "settled failed:start task")
		op := resolver.Next(l, r)
		if op.Verb != resolver.RunTask || op.Run != 8 {
			t.Fatalf("got %+v, want task run 8", op)
		}
		waiting := *l.Current
		l = resolver.After(l, op, resolver.Event{Kind: resolver.Began, At: noon})
		if l.Task == nil || l.Run != 8 {
			t.Fatalf("a task that has begun: %+v", l)
		}
		l = resolver.After(l, op, resolver.Event{Kind: end, At: noon, Failure: resolver.Failure{Message: "exit status 7", Exit: 7}})
		waiting.Failure = l.Current.Failure
		if l.Task != nil || *l.Current != waiting || l.Ended.Run != 8 || l.Ended.Exit != 7 {
			t.Errorf("%s: %+v, the hook %+v, ended %+v", end, l, l.Current, l.Ended)
		}
		// The stamp of the task's run is not that of the hook's, nor is an answer
		// to the hook's lost.
		r.Task, r.Committed, r.Resolved = resolver.Task{}, 8, resolver.Resolved{Run: 7, Mode: resolver.RunAgain}
		if op := resolver.Next(l, r); op.Verb != resolver.RunHook || op.Run != 9 || op.Hook.Kind != hooks.Start {
			t.Errorf("after the task: %+v, want start as run 9", op)
		}
		r.Resolved.Mode = resolver.SkipIt
		l = resolver.After(l, resolver.Next(l, r), resolver.Event{Kind: resolver.Done, At: noon})
		if l.Ended.Run != 7 || l.Ended.Newest != 8 {
			t.Errorf("skipped after a later run: %+v", l.Ended)
		}
	}
}

func TestATaskThatCommittedBeforeADeploymentHasEnded(t *testing.T) {
	t.Parallel()
	l, _ := situation(t, "settled running-task")
	if l = resolver.Resume(l, "ch:2", noon); l.Task != nil || l.Ended.Run != 7 || !l.Upgraded {
		t.Errorf("%+v", l)
	}
}
