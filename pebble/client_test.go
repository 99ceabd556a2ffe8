package pebble_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
)

// services is a layer with services that end when they are told to.
const services = `
services:
  web:
    override: replace
    command: sleep 1000
    startup: enabled
  talk:
    override: replace
    command: sh -c "for i in 1 2 3; do echo line $i; done; exec sleep 1000"
  broken:
    override: replace
    command: sh -c "exit 3"
`

func start(t testing.TB, o pebbletest.Options) (*pebbletest.Pebble, *pebble.Client) {
	t.Helper()
	p := pebbletest.Start(t, o)
	return p, pebble.New(p.Socket)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v\n%s", err, errors.ErrorStack(err))
	}
}

func value[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// wantError says so if an error doesn't match.
func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v; want %v", what, got, want)
	}
}

func TestPebbleSaysWhoItIs(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	info := value[pebble.SystemInfo](t)(c.SystemInfo(t.Context()))
	if info.Version != "v1.32.1" || info.Boot == "" {
		t.Errorf("it is %+v", info)
	}
}

func TestServicesAreStartedStoppedAndReplanned(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{Layers: map[string]string{"001-base.yaml": services}, Args: []string{"--hold"}})
	ctx := t.Context()
	current := func(name string) string {
		t.Helper()
		s := value[[]pebble.Service](t)(c.Services(ctx, name))
		if len(s) != 1 {
			t.Fatalf("%d services %s", len(s), name)
		}
		return s[0].Current
	}
	if got := current("web"); got != "inactive" {
		t.Errorf("held back, web is %s", got)
	}
	must(t, c.Replan(ctx))
	if got := current("web"); got != "active" {
		t.Errorf("after a replan web is %s", got)
	}
	must(t, c.Replan(ctx)) // nothing is to be done
	before := value[[]pebble.Service](t)(c.Services(ctx, "web"))[0].Since
	must(t, c.Restart(ctx, "web"))
	if after := value[[]pebble.Service](t)(c.Services(ctx, "web"))[0].Since; !after.After(before) {
		t.Errorf("restarted, web is active since %v, and was since %v", after, before)
	}
	must(t, c.Stop(ctx, "web"))
	if got := current("web"); got != "inactive" {
		t.Errorf("stopped, web is %s", got)
	}
	err := c.Start(ctx, "broken")
	var failed *pebble.ChangeError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "exited quickly with code 3") {
		t.Errorf("a service that ends at once: %v", err)
	}
	var refused *pebble.APIError
	if err := c.Start(ctx, "nope"); !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("a service that there isn't: %v", err)
	}
	if all := value[[]pebble.Service](t)(c.Services(ctx)); len(all) != 3 || all[0].Name != "broken" {
		t.Errorf("services are %+v", all)
	}
}

func TestLayersMakeThePlan(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{Layers: map[string]string{"001-base.yaml": services}, Args: []string{"--hold"}})
	ctx := t.Context()
	l := pebble.Layer{Label: "mine", YAML: "services: {more: {override: replace, command: sleep 5}}"}
	must(t, c.AddLayer(ctx, l))
	var refused *pebble.APIError
	if err := c.AddLayer(ctx, l); !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("a label for the second time: %v", err)
	}
	l.Combine, l.YAML = true, "services: {more: {override: merge, command: sleep 6}}"
	must(t, c.AddLayer(ctx, l))
	plan := value[string](t)(c.Plan(ctx))
	if !strings.Contains(plan, "sleep 6") || !strings.Contains(plan, "sleep 1000") || strings.Contains(plan, "sleep 5") {
		t.Errorf("the plan is\n%s", plan)
	}
}

func TestLogsAreRead(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{Layers: map[string]string{"001-base.yaml": services}, Args: []string{"--hold"}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	must(t, c.Start(ctx, "talk"))
	var lines []string
	must(t, c.Logs(ctx, pebble.LogsQuery{Services: []string{"talk"}, Last: 2}, func(e pebble.LogEntry) error {
		lines = append(lines, e.Service+": "+e.Message)
		return nil
	}))
	if !slices.Equal(lines, []string{"talk: line 2", "talk: line 3"}) {
		t.Errorf("the last two lines are %q", lines)
	}
	// Following brings what there is and then what comes.
	lines = nil
	err := c.Logs(ctx, pebble.LogsQuery{Last: -1, Follow: true}, func(e pebble.LogEntry) error {
		if lines = append(lines, e.Message); len(lines) == 3 {
			go func() { _ = c.Restart(context.WithoutCancel(ctx), "talk") }()
		}
		if len(lines) == 6 {
			cancel()
		}
		return nil
	})
	wantError(t, "ended by the reader", err, context.Canceled)
	if want := []string{"line 1", "line 2", "line 3", "line 1", "line 2", "line 3"}; !slices.Equal(lines, want) {
		t.Errorf("followed, the lines are %q", lines)
	}
	stop := errors.New("enough")
	wantError(t, "an error of the reader's", c.Logs(t.Context(), pebble.LogsQuery{Last: -1}, func(pebble.LogEntry) error { return stop }), stop)
}

func TestFollowedLogsEndWithPebble(t *testing.T) {
	t.Parallel()
	p, c := start(t, pebbletest.Options{Layers: map[string]string{"001-base.yaml": services}, Args: []string{"--hold"}})
	must(t, c.Start(t.Context(), "talk"))
	err := c.Logs(t.Context(), pebble.LogsQuery{Last: 1, Follow: true}, func(pebble.LogEntry) error { return p.Stop() })
	wantError(t, "the followed logs of a Pebble that ends", err, pebble.ErrBroken)
}

func TestChangesAreReadAndForgottenOnesAreNotFound(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{Layers: map[string]string{"001-base.yaml": services}})
	_, err := c.Change(t.Context(), "999")
	wantError(t, "a change that there isn't", err, errors.NotFound)
	_, err = c.WaitChange(t.Context(), "999")
	wantError(t, "waiting for it", err, errors.NotFound)
	_, err = c.Notice(t.Context(), "999")
	wantError(t, "a notice that there isn't", err, errors.NotFound)
	change := value[pebble.Change](t)(c.WaitChange(t.Context(), "1")) // the autostart
	if change.Kind != "autostart" || change.Status != "Done" || !change.Ready || change.Ended.Before(change.Spawned) || len(change.Tasks) == 0 {
		t.Errorf("the autostart is %+v", change)
	}
}

// checks is a layer of checks for a file, which are performed when the test says so.
func checks(file string) string {
	return `
checks:
  up:
    override: replace
    level: alive
    threshold: 3
    period: 1h
    timeout: 1m
    exec: {command: test -e ` + file + `}
  idle:
    override: replace
    level: ready
    startup: disabled
    period: 1h
    timeout: 1m
    exec: {command: test -e ` + file + `}
`
}

func TestHealthCountsTheChecksOfTheLevel(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/up"
	_, c := start(t, pebbletest.Options{Layers: map[string]string{"001-checks.yaml": checks(file)}})
	ctx := t.Context()
	healthy := func(level pebble.Level, names ...string) bool {
		t.Helper()
		return value[bool](t)(c.Health(ctx, level, names...))
	}
	check := func(name string) pebble.Check {
		t.Helper()
		return value[[]pebble.Check](t)(c.Checks(ctx, pebble.LevelUnset, name))[0]
	}
	for check("up").Status != "down" {
		_, _, err := c.RefreshCheck(ctx, "up")
		must(t, err)
	}
	if healthy(pebble.LevelAlive) || healthy(pebble.LevelReady) || healthy(pebble.LevelUnset) || !healthy(pebble.LevelUnset, "idle") {
		t.Error("a check for alive that is down counts for alive, ready and all; one that doesn't run for none")
	}
	if got := check("up"); got.Failures < 3 || got.Threshold != 3 || got.Level != pebble.LevelAlive || got.Change == "" {
		t.Errorf("the check is %+v", got)
	}
	if changed := value[[]string](t)(c.StopChecks(ctx, "up")); !slices.Equal(changed, []string{"up"}) || !healthy(pebble.LevelAlive) {
		t.Errorf("stopped were %v, and alive is healthy: %v", changed, healthy(pebble.LevelAlive))
	}
	if changed := value[[]string](t)(c.StartChecks(ctx, "up", "idle")); len(changed) != 2 || check("idle").Status != "up" {
		t.Errorf("started were %v", changed)
	}
	_, wrong, err := c.RefreshCheck(ctx, "idle")
	if must(t, err); wrong == "" {
		t.Error("a check for a file that there isn't finds nothing wrong")
	}
	var refused *pebble.APIError
	if _, err := c.Health(ctx, "wrong"); !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("a level that there isn't: %v", err)
	}
	if ready := value[[]pebble.Check](t)(c.Checks(ctx, pebble.LevelReady)); len(ready) != 1 || ready[0].Name != "idle" {
		t.Errorf("checks for ready are %+v", ready)
	}
}

func TestServicesGetSignals(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{Layers: map[string]string{"001-base.yaml": `
services:
  hup:
    override: replace
    command: sh -c "trap 'echo got it' HUP; echo ready; while true; do sleep 0.01; done"
`}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	must(t, c.Start(ctx, "hup"))
	done := errors.New("done")
	err := c.Logs(ctx, pebble.LogsQuery{Last: -1, Follow: true}, func(e pebble.LogEntry) error {
		switch e.Message {
		case "ready":
			return c.Signal(ctx, "SIGHUP", "hup")
		case "got it":
			return done
		}
		return nil
	})
	wantError(t, "the signal's arrival", err, done)
}
