package isolate_test

import (
	"context"
	"errors"
	"testing"
	"time"
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
