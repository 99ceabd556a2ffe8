package why_test

import (
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/why"
)

// facts are those of a settled unit at nine o'clock, changed.
func facts(change func(*why.Facts)) why.Facts {
	now := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	f := why.Facts{
		Unit: state.UnitDoc{Name: "shop/0", Machine: "2", Deployed: true}, Now: now, Hosted: true, Present: true, Known: true,
		Agent: model.Status{Status: model.StatusIdle, Since: now.Add(-time.Minute)},
		Local: resolver.New("shop/0"), Op: resolver.Op{Verb: resolver.Idle},
	}
	change(&f)
	return f
}

// idle has the unit's next update-status in a while.
func idle(f *why.Facts, in time.Duration) {
	f.Local.Charm, f.Local.Installed, f.Local.Configured, f.Local.Started = "ch:1", true, true, true
	f.Local.Seen, f.Local.StatusAt = resolver.Seen{Config: "c"}, f.Now
	f.Remote = resolver.Remote{Now: f.Now, Charm: "ch:1", Want: f.Local.Seen, StatusInterval: in}
	f.Op = resolver.Next(f.Local, f.Remote)
}

// broken is a failed start hook.
func broken(f *why.Facts) *resolver.Current {
	f.Local.Current = &resolver.Current{
		Hook: hooks.Info{Kind: hooks.Start, Cause: "c"}, Run: 7, Step: resolver.Failed,
		Failure: &resolver.Failure{Message: "exit status 3", Exit: 3, At: f.Now.Add(-24 * time.Hour)},
	}
	f.Unit.Failed = 7
	return f.Local.Current
}

var upContainer = state.ContainerDoc{Name: "db", State: state.ContainerRunning, Boot: "1"}

func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	start := hooks.Info{Kind: hooks.Start, Cause: "because"}
	for _, c := range []struct {
		name   string
		change func(*why.Facts)
		state  why.State
		want   string
	}{
		{"nothing, and no update-status either", func(*why.Facts) {}, why.Settled, "shop/0 has had nothing to do since 08:59:00"},
		{"a unit for another architecture", func(f *why.Facts) {
			f.Unit.Arch, f.Arch, f.Unit.Deployed = "s390x", "arm64", false
		}, why.Machine, "shop/0 waits for a machine with arch=s390x, which this host isn't; " +
			`"unitd set-constraints shop arch=arm64" has units that are added later run here`},
		{"nothing until update-status", func(f *why.Facts) { idle(f, time.Hour) }, why.Settled,
			"shop/0 has had nothing to do since 08:59:00; update-status is next, at 10:00:00"},
		{"nothing until a secret is to be rotated", func(f *why.Facts) {
			idle(f, time.Hour)
			f.Remote.OwnSecrets = []resolver.OwnSecret{{ID: "s", Label: "key", Rotate: "hourly", NextRotate: f.Now.Add(time.Minute)}}
			f.Op = resolver.Next(f.Local, f.Remote)
		}, why.Settled, "shop/0 has had nothing to do since 08:59:00; secret-rotate (secret:s) is next, at 09:01:00"},
		{"a service of its machine has failed", func(f *why.Facts) {
			f.System = model.System{State: model.SystemDegraded, Failed: []string{"nginx.service", "x.service"}}
			f.Workload.Message = "nginx doesn't answer"
		}, why.Service, `shop/0 has had nothing to do since 08:59:00; on its machine x.service failed ("unitd logs shop/0 --system x.service")`},
		{"hooks of containers that have failed hold nothing up", func(f *why.Facts) {
			idle(f, time.Hour)
			failed := func(container string, ago time.Duration) resolver.WorkloadTold {
				return resolver.WorkloadTold{Boot: "1", Failed: []resolver.FailedWorkload{{
					Hook: hooks.Info{Kind: hooks.PebbleReady, Workload: container, Boot: "1"}, RetryAt: f.Now.Add(5*time.Second - ago),
					Failure: resolver.Failure{Message: "exit status 1", At: f.Now.Add(-ago)},
				}}}
			}
			f.Local.Workloads = map[string]resolver.WorkloadTold{"db": failed("db", time.Second), "web": failed("web", 2*time.Second)}
		}, why.Aside, "shop/0 goes on without its failed hook db-pebble-ready (exit status 1) and 1 more of its containers since 08:59:59; " +
			"it is run again by itself in 4s, at 09:00:04, if Pebble answers in its container"},
		{"a container whose image is fetched", func(f *why.Facts) {
			f.Containers = []state.ContainerDoc{upContainer, {Name: "web", State: state.ContainerFetching, Since: f.Now}}
		}, why.Down, "shop/0 waits for its container web, whose image is being fetched since 09:00:00"},
		{"a container that doesn't answer yet", func(f *why.Facts) {
			f.Containers = []state.ContainerDoc{{Name: "web", State: state.ContainerStarting, Since: f.Now}}
		}, why.Down, "shop/0 waits for its container web, whose Pebble doesn't answer yet since 09:00:00"},
		{"an image that can't be had, and a container that has ended", func(f *why.Facts) {
			f.Containers = []state.ContainerDoc{
				{Name: "a", State: state.ContainerWaiting, Since: f.Now, Fault: "image x: not found", NoImage: true},
				{Name: "web", State: state.ContainerWaiting, Since: f.Now, Fault: "it has ended"},
			}
		}, why.Down, "shop/0 cannot get the image of its container a (image x: not found) (and 1 more) since 09:00:00; the agent tries again by itself"},
		{"a container that has ended, with a hook that has failed", func(f *why.Facts) {
			failed := []state.FailedHook{{Hook: "web-pebble-ready", Reason: "exit code 1"}}
			f.Containers = []state.ContainerDoc{{Name: "web", State: state.ContainerWaiting, Since: f.Now, Fault: "it has ended", Failed: failed}}
		}, why.Down, "shop/0 has a container that isn't up: web (it has ended) since 09:00:00; it is started again by itself; " +
			"its failed hook web-pebble-ready (exit code 1) runs again then"},
		{"a container that was stopped", func(f *why.Facts) {
			f.Containers = []state.ContainerDoc{{Name: "web", State: state.ContainerStopped, Since: f.Now}}
		}, why.Down, "shop/0 has a container that was stopped: web since 09:00:00"},
		{"a container that can't run", func(f *why.Facts) {
			f.Containers = []state.ContainerDoc{{Name: "web", State: state.ContainerBarred, Since: f.Now, Fault: "the unit isn't isolated"}}
		}, why.Down, "shop/0 has a container that can't run: web, as the unit isn't isolated since 09:00:00; remove the application, and deploy it with --isolate=auto"},
		{"a check that is down", func(f *why.Facts) {
			c := upContainer
			c.Checks = []state.ContainerCheck{{Name: "fine", Status: "up"}, {Name: "up", Status: "down"}}
			f.Containers = []state.ContainerDoc{c}
		}, why.Check, "shop/0 has nothing to do, but a check of its Pebble is down: up of container db"},
		{"an image of next containers that is fetched", func(f *why.Facts) {
			f.Next = &state.NextImage{Container: "web", Image: "r/web:2", Since: f.Now}
		}, why.Turn, "shop/0 keeps its containers until the next image of container web is fetched: r/web:2 since 09:00:00"},
		{"an image of next containers that can't be had", func(f *why.Facts) {
			f.Next = &state.NextImage{Container: "web", Image: "r/web:2", Fault: "image r/web:2: not found", Since: f.Now}
		}, why.Turn, "shop/0 keeps its containers, as it cannot get the next image of container web (image r/web:2: not found) since 09:00:00; the agent tries again by itself"},
		{"other containers, after another unit", func(f *why.Facts) { f.After = "shop/1" }, why.Turn,
			"shop/0 keeps its containers and its charm until it has its turn for other ones; shop/1 has to be ready first"},
		{"other containers, after another unit, on another machine", func(f *why.Facts) {
			f.Hosted, f.Known, f.After, f.Agent.Status = false, false, "shop/1", model.StatusIdle
		}, why.Turn, "shop/0 keeps its containers and its charm until it has its turn for other ones; shop/1 has to be ready first"},
		{"a hook of a container on another machine", func(f *why.Facts) {
			c := upContainer
			c.Failed = []state.FailedHook{{Hook: "db-pebble-custom-notice (example.com/a)", Reason: "exit code 1"}}
			f.Hosted, f.Known, f.Containers = false, false, []state.ContainerDoc{c}
		}, why.Aside, "shop/0 goes on without its failed hook db-pebble-custom-notice (example.com/a) (exit code 1); " +
			"it is run again by itself, if Pebble answers in its container"},
		{"storage that install waits for", func(f *why.Facts) {
			f.Op = resolver.Op{Verb: resolver.Idle, Storage: []model.StorageID{"data/0"}, Reason: "waiting for storage data/0: the pool has no room"}
		}, why.Storage, "shop/0 is waiting for storage data/0: the pool has no room"},
		{"the turn of the machine, for a task", func(f *why.Facts) {
			f.Op = resolver.Op{Verb: resolver.RunTask, Hook: hooks.Info{Kind: hooks.Action, Action: "backup", Cause: "task 3"}}
			f.Busy, f.BusyWith = "side/1", model.Status{Message: "running stop hook", Since: f.Now}
		}, why.Turn, "shop/0 waits for its turn to run backup-action (task 3); side/1 has the turn on machine 2, running stop hook since 09:00:00"},
		{"a store that takes nothing", func(f *why.Facts) {
			idle(f, time.Hour)
			f.Trouble, f.TroubleSince = "the disk is full", f.Now
		}, why.Trouble, "shop/0 is held up: the store can't be written to (the disk is full) since 09:00:00; the agent tries again, and at once when there is room again"},
		{"a failed hook of which a store takes nothing", func(f *why.Facts) {
			broken(f)
			f.Agent = model.Status{Status: model.StatusError, Message: `hook failed: "start"`}
			f.Trouble, f.TroubleSince = "the disk is full", f.Now
		}, why.Trouble, `shop/0 has a failed hook (hook failed: "start"), and is held up: the store can't be written to (the disk is full) since 09:00:00; the agent tries again, and at once when there is room again`},
		{"a hook runs", func(f *why.Facts) {
			f.Agent = model.Status{Status: model.StatusExecuting, Since: f.Now.Add(-48 * time.Hour)}
			f.Local.Current = &resolver.Current{Hook: start, Run: 4, Step: resolver.Pending}
			f.Programs = []string{"start", "sleep"}
		}, why.Running, "shop/0 runs start (run 4: because) since 2026-03-01 09:00:00; it is in sleep"},
		{"a failed hook waits for a person", func(f *why.Facts) { broken(f) }, why.Failed,
			`shop/0 waits with its failed hook start (exit status 3) since 2026-03-02 09:00:00; "unitd resolved shop/0" runs it again, with --no-retry the unit goes on without it`},
		{"a failed hook comes again", func(f *why.Facts) { broken(f); f.Op.Until = f.Now.Add(time.Second) }, why.Failed,
			`shop/0 waits with its failed hook start (exit status 3) since 2026-03-02 09:00:00; it is run again by itself in 1s, at 09:00:01; "unitd resolved shop/0" runs it again, with --no-retry the unit goes on without it`},
		{"a failed hook comes again after a while", func(f *why.Facts) { broken(f); f.Op.Until = f.Now.Add(5*time.Minute - 400*time.Millisecond) }, why.Failed,
			`shop/0 waits with its failed hook start (exit status 3) since 2026-03-02 09:00:00; it is run again by itself in 5m0s, at 09:04:59; "unitd resolved shop/0" runs it again, with --no-retry the unit goes on without it`},
		{"a failed hook that is due", func(f *why.Facts) { broken(f); f.Op.Until = f.Now }, why.Failed,
			`shop/0 waits with its failed hook start (exit status 3) since 2026-03-02 09:00:00; it is run again by itself now; "unitd resolved shop/0" runs it again, with --no-retry the unit goes on without it`},
		{"a failed hook was answered", func(f *why.Facts) { broken(f); f.Unit.Resolved = state.Resolved{Run: 7, Mode: "skip"} }, why.Resolved,
			"shop/0 has a failed hook that was resolved; the unit is about to go on without it"},
		{"an answer to an earlier failure is none", func(f *why.Facts) { broken(f); f.Unit.Resolved = state.Resolved{Run: 6, Mode: "skip"} }, why.Failed,
			`shop/0 waits with its failed hook start (exit status 3) since 2026-03-02 09:00:00; "unitd resolved shop/0" runs it again, with --no-retry the unit goes on without it`},
		{"the turn of the machine", func(f *why.Facts) {
			f.Op = resolver.Op{Verb: resolver.RunHook, Hook: start}
			f.Busy, f.BusyWith = "side/1", model.Status{Message: "running stop hook", Since: f.Now}
		}, why.Turn, "shop/0 waits for its turn to run start (because); side/1 has the turn on machine 2, running stop hook since 09:00:00"},
		{"subordinates", func(f *why.Facts) { f.Unit.Life = model.Dying; f.Remote.Subordinates = []model.UnitName{"side/0"} }, why.Going,
			"shop/0 is going; it waits for its subordinate side/0 to go"},
		{"what is still to run", func(f *why.Facts) {
			f.Unit.Life = model.Dying
			f.ToRun = []hooks.Info{{Kind: hooks.Stop}, {Kind: hooks.Remove}}
		}, why.Going, "shop/0 is going; still to run: stop, remove"},
		{"a charm that can't be deployed", func(f *why.Facts) {
			f.Agent = model.Status{Status: model.StatusFailed, Message: "cannot deploy: disk full", Since: f.Now}
		}, why.Trouble, "shop/0 is held up (cannot deploy: disk full) since 09:00:00; the agent tries again at least every 30 seconds"},
		{"a unit that can't be taken on", func(f *why.Facts) {
			f.Unit.Deployed, f.Known = false, false
			f.Agent = model.Status{Status: model.StatusFailed, Message: "cannot make the directory", Since: f.Now}
		}, why.Trouble, "shop/0 is held up (cannot make the directory) since 09:00:00; the agent tries again at least every 30 seconds"},
		{"a unit that can't be taken on elsewhere", func(f *why.Facts) {
			f.Unit.Deployed, f.Known, f.Hosted, f.Elsewhere = false, false, false, true
			f.Agent = model.Status{Status: model.StatusFailed, Message: "cannot make the directory", Since: f.Now}
		}, why.Trouble, "shop/0 is held up (cannot make the directory) since 09:00:00; the agent tries again at least every 30 seconds"},
		{"a relation that can't be entered yet", func(f *why.Facts) {
			f.Remote.Relations = []relation.Snapshot{{RemoteApp: "side", Live: true, NotYet: true}}
			f.Going, f.Former = "side/0", "side"
		}, why.Relation, "shop/0 cannot enter its relation with side yet; its former subordinate side/0 has to go first"},
		{"a reboot", func(f *why.Facts) { f.Unit.Reboot = "boot" }, why.Reboot,
			"shop/0 waits for the reboot of its machine that its charm has asked for"},
		{"no agent, and it was killed in a hook", func(f *why.Facts) {
			f.Hosted = false
			f.Local.Current = &resolver.Current{Hook: start, Run: 4, Step: resolver.Pending}
		}, why.NoAgent, `shop/0 has no agent: it has ended in the middle of start; "unitd agent" starts one, "unitd wait" one in the background`},
		{"no agent, for a unit that is new", func(f *why.Facts) { f.Hosted, f.Known, f.Unit.Deployed = false, false, false }, why.NoAgent,
			`shop/0 is new, and no agent runs that could take it on; "unitd agent" starts one, "unitd wait" one in the background`},
		{"an agent of another machine that is lost", func(f *why.Facts) { f.Hosted, f.Known, f.Present = false, false, false }, why.NoAgent,
			"shop/0 has no agent: that of machine 2 is not there; it has to be started on machine 2"},
		{"a unit of another machine that has failed", func(f *why.Facts) {
			f.Hosted, f.Known = false, false
			f.Agent = model.Status{Status: model.StatusError, Since: f.Now, Data: map[string]any{"hook": "start", "reason": "exit status 1"}}
		}, why.Failed, `shop/0 waits with its failed hook start (exit status 1) since 09:00:00; "unitd resolved shop/0" runs it again, with --no-retry the unit goes on without it`},
		{"a unit of another machine that has failed, and whose hook comes again", func(f *why.Facts) {
			f.Hosted, f.Known, f.RetryAt = false, false, f.Now.Add(7*time.Second)
			f.Agent = model.Status{Status: model.StatusError, Since: f.Now, Data: map[string]any{"hook": "start", "reason": "exit status 1"}}
		}, why.Failed, `shop/0 waits with its failed hook start (exit status 1) since 09:00:00; it is run again by itself in 7s, at 09:00:07; "unitd resolved shop/0" runs it again, with --no-retry the unit goes on without it`},
		{"a unit of another machine that runs a hook", func(f *why.Facts) {
			f.Hosted, f.Known = false, false
			f.Agent = model.Status{Status: model.StatusExecuting, Message: "running start hook", Since: f.Now}
		}, why.Running, "shop/0 is running start hook on machine 2 since 09:00:00"},
		{"many hooks are due", func(f *why.Facts) {
			f.Op = resolver.Op{Verb: resolver.RunHook, Hook: start}
			for range 9 {
				f.ToRun = append(f.ToRun, start)
			}
		}, why.Due, "shop/0 is about to run start (because); then: start, start, start, start, start, start, and 2 more"},
		{"Dead", func(f *why.Facts) { f.Unit.Life = model.Dead }, why.Going, "shop/0 is Dead; the agent clears it away"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := why.Say(facts(c.change))
			if got.Sentence != c.want || got.State != c.state {
				t.Errorf("%s: %s\nwant %s: %s", got.State, got.Sentence, c.state, c.want)
			}
		})
	}
}
