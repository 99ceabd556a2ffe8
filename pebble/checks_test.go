package pebble_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
)

// checkWorld is a Pebble with a check that is performed when the test says so: for
// a file that the test makes and removes.
type checkWorld struct {
	*testing.T
	c    *pebble.Client
	w    *watched
	file string
	told int
}

func layerOf(file, more string) string {
	return "checks: {up: {override: replace, threshold: 3, period: 1h, timeout: 1m, exec: {command: test -e " + file + "}" + more + "}}"
}

func newCheckWorld(t *testing.T, more string) *checkWorld {
	file := filepath.Join(t.TempDir(), "up")
	p, c := start(t, pebbletest.Options{Layers: map[string]string{"001-checks.yaml": layerOf(file, more)}})
	return &checkWorld{T: t, c: c, w: watch(t, p.Socket, time.Time{}), file: file}
}

// perform performs the check so many times.
func (k *checkWorld) perform(times int) {
	k.Helper()
	for range times {
		_, _, err := k.c.RefreshCheck(k.Context(), "up")
		must(k, err)
	}
}

// down has it fail so many times, up succeed once.
func (k *checkWorld) down(times int) {
	k.Helper()
	_ = os.Remove(k.file)
	k.perform(times)
}

func (k *checkWorld) up() {
	k.Helper()
	must(k, os.WriteFile(k.file, nil, 0o600))
	k.perform(1)
}

// begun waits until something of a change is being done: one that is ended before never was.
func (k *checkWorld) begun(id string) {
	k.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		got := value[pebble.Change](k)(k.c.Change(k.Context(), id))
		if got.Status != "Do" {
			return
		}
		if time.Now().After(end) {
			k.Fatalf("change %s doesn't begin", id)
		}
	}
}

// status waits until the check stands so.
func (k *checkWorld) status(want string) {
	k.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got := value[[]pebble.Check](k)(k.c.Checks(k.Context(), pebble.LevelUnset, "up"))
		if len(got) == 1 && got[0].Status == want {
			return
		}
		if time.Now().After(end) {
			k.Fatalf("the check is %+v, want %s", got, want)
		}
	}
}

// events are all events of checks up to now: those before a notice that is given
// now.
func (k *checkWorld) events(want ...string) {
	k.Helper()
	k.told++
	marker := fmt.Sprintf("example.com/marker%d", k.told)
	add(k.T, k.c, marker)
	s := k.w.until("the marker", func(s pebble.State) bool { return len(s.Events) > 0 && s.Events[len(s.Events)-1].Key == marker })
	var got []string
	for _, e := range s.Events {
		if e.Kind == pebble.EventCustom {
			continue
		}
		got = append(got, string(e.Kind)+" "+e.Check)
		if e.Type != pebble.NoticeChange {
			k.Errorf("the event is %+v", e)
		}
	}
	wantEvents(k.T, got, want...)
}

const failed, recovered = "check-failed up", "check-recovered up"

func TestACheckFailsAtTheThresholdAndRecoversOnceEach(t *testing.T) { // K-081, K-082
	t.Parallel()
	k := newCheckWorld(t, "")
	k.events()
	k.down(2)
	k.events()
	k.down(1)
	k.status("down")
	k.down(3)
	k.events(failed)
	k.up()
	k.status("up")
	k.perform(3)
	k.events(failed, recovered)
}

func TestK083ACheckThatFailsBelowTheThresholdIsToldToNobody(t *testing.T) {
	t.Parallel()
	k := newCheckWorld(t, "")
	for range 5 {
		k.down(2)
		k.up()
	}
	k.events()
}

func TestChecksThatGoDownUpAndDownAreToldInOrder(t *testing.T) { // K-084, and K-087 of a new watcher
	t.Parallel()
	k := newCheckWorld(t, "")
	for range 2 {
		k.down(3)
		k.status("down")
		k.up()
		k.status("up")
	}
	k.down(3)
	k.status("down")
	k.events(failed, recovered, failed, recovered, failed)
}

// TestK085ACheckThatIsStoppedWhileItFailsHasNotRecovered: a layer can't remove a
// check, and one that it disables goes on. Pebble's change is Done all the same.
func TestK085ACheckThatIsStoppedWhileItFailsHasNotRecovered(t *testing.T) {
	t.Parallel()
	k := newCheckWorld(t, "")
	k.down(3)
	k.status("down")
	k.begun("2")
	must(t, os.WriteFile(k.file, nil, 0o600))
	value[[]string](t)(k.c.StopChecks(t.Context(), "up"))
	k.status("inactive")
	done(t, k.c, "2")
	k.events(failed)
}

// done waits until a change has ended, as Done.
func done(t *testing.T, c *pebble.Client, id string) {
	t.Helper()
	change := value[pebble.Change](t)(c.WaitChange(t.Context(), id))
	if change.Status != "Done" {
		t.Errorf("change %s is %s: then this test shows nothing", id, change.Status)
	}
}

func TestK086ACheckThatIsRedefinedWhileItIsDownBeginsAnew(t *testing.T) {
	t.Parallel()
	k := newCheckWorld(t, "")
	k.down(3)
	k.status("down")
	k.begun("2")
	must(t, k.c.AddLayer(t.Context(), pebble.Layer{Label: "more", YAML: layerOf(k.file+"-other", "")}))
	k.status("up")
	done(t, k.c, "2")
	k.perform(2)
	k.events(failed)
	k.perform(1)
	k.status("down")
	k.events(failed, failed)
}

func TestACheckThatIsStartedIsToldOfFromThenOn(t *testing.T) { // K-090
	t.Parallel()
	k := newCheckWorld(t, ", startup: disabled")
	k.status("inactive")
	value[[]string](t)(k.c.StartChecks(t.Context(), "up"))
	k.down(3)
	k.status("down")
	k.events(failed)
}

func TestK089ChangesOfServicesAreToldToNobody(t *testing.T) {
	t.Parallel()
	p, c := start(t, pebbletest.Options{Layers: map[string]string{"001-base.yaml": services}})
	w := watch(t, p.Socket, time.Time{})
	must(t, c.Start(t.Context(), "web"))
	must(t, c.Stop(t.Context(), "web"))
	if err := c.Start(t.Context(), "broken"); err == nil {
		t.Error("a service that ends at once was started")
	}
	add(t, c, "example.com/last")
	wantEvents(t, w.events("example.com/last"), "custom example.com/last")
}

// TestWhatTheCharmHasStartedIsKnown, and what becomes of checks, without a report
// each time that one is performed.
func TestWhatTheCharmHasStartedIsKnown(t *testing.T) {
	t.Parallel()
	const never = "checks: {up: {override: replace, threshold: 2, period: 20ms, timeout: 10ms, exec: {command: /bin/false}}}"
	p, c := start(t, pebbletest.Options{Layers: map[string]string{"001-base.yaml": services, "002-checks.yaml": never}, Args: []string{"--hold"}})
	w := watch(t, p.Socket, time.Time{})
	service := func(s pebble.State, name string) string {
		for _, known := range s.Services {
			if known.Name == name {
				return known.Current
			}
		}
		return ""
	}
	w.until("services", func(s pebble.State) bool { return service(s, "web") == "inactive" })
	must(t, c.Start(t.Context(), "web"))
	both := w.until("a service that runs, and a check that is down", func(s pebble.State) bool {
		return service(s, "web") == "active" && len(s.Checks) == 1 && s.Checks[0].Status == "down"
	})
	if check := both.Checks[0]; check.Failures != 0 || check.Threshold != 2 || check.Change != "" {
		t.Errorf("the check is %+v", check)
	}
	must(t, c.Stop(t.Context(), "web"))
	w.until("a service that has ended", func(s pebble.State) bool { return service(s, "web") == "inactive" })
}
