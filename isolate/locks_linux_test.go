package isolate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
)

// TestHostAMachineThatDoesNotBootHoldsNobodyUp: others start and end meanwhile, and who waits
// for it can leave.
func TestHostAMachineThatDoesNotBootHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.machine("app/0")
	c := w.openBy(spec)
	want(t, c, `printf '[Service]\nType=oneshot\nTimeoutStartSec=infinity\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/never.service
		systemctl enable never 2>/dev/null; systemctl is-enabled never`, "enabled")
	endInit(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened := make(chan error, 1)
	go func() {
		_, err := w.cells.Open(ctx, key("app/0"), spec)
		opened <- err
	}()
	for c, err := w.cells.Find(key("app/0")); err != nil || c.Pid() < 0; c, err = w.cells.Find(key("app/0")) {
		if t.Context().Err() != nil {
			t.Fatal("it isn't started")
		}
		time.Sleep(time.Millisecond)
	}
	want(t, w.openBy(w.machine("app/1")), "systemctl is-system-running", "running")
	must(t, w.cells.Remove(key("app/1")))
	select {
	case err := <-opened:
		t.Errorf("it boots: %v", err)
	default:
	}
	cancel()
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	must(t, w.cells.Remove(key("app/0")))
}

// TestACellThatIsDeletedHoldsNobodyUp: it may have the files of a whole system.
func TestACellThatIsDeletedHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone := w.open("app/0", model.IsolateFiles)
	found := make(chan error, 1)
	deleted := false
	w.cells.Disk.Around = func(s durable.Step, _, whole func() error) error {
		if s.Do == durable.Remove && s.Path == gone.Dir() && !deleted {
			deleted = true
			go func() {
				_, err := w.cells.Open(context.Background(), key("app/1"), w.spec("app/1", model.IsolateFiles))
				found <- err
			}()
			select {
			case err := <-found:
				found <- err
			case <-time.After(time.Minute):
				t.Error("another cell can't be opened meanwhile")
			}
		}
		return whole()
	}
	must(t, w.cells.Remove(key("app/0")))
	must(t, <-found)
	if !deleted {
		t.Error("nothing was deleted")
	}
	must(t, w.cells.Remove(key("app/1")))
}
