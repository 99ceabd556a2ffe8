package uniter

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// sidecarUnit is a unit with a container, its agent's doors, and what came by them.
type sidecarUnit struct {
	remote   resolver.Remote
	charm    string
	fails    map[string]*resolver.Failure // by the hook's name
	said     []string
	limits   map[string]time.Duration
	last     Report
	changed  chan struct{}
	whenIdle func() bool // says whether the agent is to go on
}

func newSidecarUnit() *sidecarUnit {
	return &sidecarUnit{
		changed: make(chan struct{}, 1), fails: map[string]*resolver.Failure{}, limits: map[string]time.Duration{},
		remote: resolver.Remote{
			Charm: "ch:1", Settings: "1", Sidecar: true, Leader: true,
			Workloads: []resolver.Workload{{Container: "web", Boot: "boot-1"}},
		},
	}
}

func (s *sidecarUnit) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

// config has the doors that a unit without relations and storage goes through.
func (s *sidecarUnit) config(dir string, stop context.CancelFunc) *Config {
	return &Config{
		Unit: "app/0", ID: "1", Dir: dir, Disk: durable.Disk{}, Clock: clock.WallClock, Log: slog.New(slog.DiscardHandler),
		Jitter: func() float64 { return 0 }, Mask: func(text string) string { return text }, Changed: s.changed,
		Observe: func(context.Context, resolver.Local) (resolver.Remote, error) {
			s.remote.Now = clock.WallClock.Now()
			return s.remote, nil
		},
		Deployed: func() (string, error) { return s.charm, nil },
		Deploy: func(_ context.Context, url string) error {
			s.charm = url
			s.say("deploy %s", url)
			return nil
		},
		Replace: func(_ context.Context, pod int) error {
			s.charm, s.remote.Workloads[0].Boot = "", "boot-2"
			s.say("replace %d", pod)
			return nil
		},
		RunHook: func(_ context.Context, run Run) Result {
			s.limits[run.Hook.Name()] = run.Limit
			s.say("%s", run.Hook.Name())
			return Result{Failure: s.fails[run.Hook.Name()]}
		},
		Commit: func(_ context.Context, run Run, _ model.Changes) error {
			s.remote.Committed, s.remote.Memory = run.Number, resolver.Remember(run.Local, nil)
			return nil
		},
		EndLeftover: func(context.Context, Run) {},
		Hope:        func() <-chan struct{} { return nil },
		Lock:        func(context.Context) (func(), bool, error) { return func() {}, false, nil },
		Report: func(_ context.Context, r Report) {
			switch r.Kind {
			case HookError, StoodAside:
				s.say("%s", r.Kind)
			case Trouble:
				s.say("%s: %v", r.Reason, r.Err)
				stop()
			case Settled, Waiting:
				if s.last = r; s.whenIdle == nil || !s.whenIdle() {
					stop()
				}
			}
		},
	}
}

// live has the agent work until it is idle and isn't to go on.
func (s *sidecarUnit) live(t *testing.T, dir string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.said = nil
	_ = s.config(dir, stop).Run(ctx)
	return strings.Join(s.said, "; ")
}

func TestAFailedHookOfAContainerStandsAside(t *testing.T) {
	t.Parallel()
	s, dir := newSidecarUnit(), t.TempDir()
	s.fails["web-pebble-ready"] = &resolver.Failure{Message: "exit status 1", Exit: 1}
	got := s.live(t, dir)
	if want := "deploy ch:1; install; leader-elected; web-pebble-ready; aside; config-changed; start"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	aside := s.last.Local.StoodAside()
	if s.last.Kind != Settled || len(aside) != 1 || !s.last.Until.Equal(aside[0].RetryAt) || aside[0].Failure.Message != "exit status 1" {
		t.Fatalf("%s until %v, with %+v", s.last.Kind, s.last.Until, aside)
	}
	// Another agent knows of it, and tells the charm nothing anew.
	if got := s.live(t, dir); got != "" || len(s.last.Local.StoodAside()) != 1 {
		t.Errorf("another agent: %s, with %+v", got, s.last.Local.StoodAside())
	}
	// A person wants such hooks to stand as others do: the next failure does.
	s.remote.WorkloadErrors, s.remote.Workloads[0].Boot = true, "boot-2"
	if got := s.live(t, dir); got != "web-pebble-ready; error" || s.last.Kind != Waiting {
		t.Errorf("got %s, then %s", got, s.last.Kind)
	}
	s.remote.WorkloadErrors = false
	if got := s.live(t, dir); got != "aside" || s.last.Kind != Settled {
		t.Errorf("got %s, then %s", got, s.last.Kind)
	}
}

func TestK116AStopThatIsCutShortDoesNotKeepTheContainersFromBeingReplaced(t *testing.T) {
	t.Parallel()
	s, dir := newSidecarUnit(), t.TempDir()
	s.live(t, dir)
	s.remote.Pod, s.remote.Charm = 1, "ch:2"
	s.fails["stop"] = &resolver.Failure{Message: "timed out after 30s", Exit: -1, TimedOut: true}
	want := "stop; replace 1; deploy ch:2; upgrade-charm; config-changed; start; web-pebble-ready"
	if got := s.live(t, dir); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.limits["stop"] != resolver.StopGrace || s.limits["start"] != 0 {
		t.Errorf("the limits were %v", s.limits)
	}
	// The record of it is the journal's: nothing is done again.
	if got := s.live(t, dir); got != "" {
		t.Errorf("another agent: %s", got)
	}
}
