package agent

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/service"
)

// listening is a service manager of the test's own, and a reporter that tells it.
func listening(t *testing.T, well func(context.Context) error) (*reporter, func() string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	manager, err := service.Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(manager.Close)
	manager.Watchdog = 20 * time.Millisecond
	return &reporter{manager: manager, well: well, kick: make(chan struct{}, 1)}, func() string {
		t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
		b := make([]byte, 1000)
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
}

// TestTheWatchdogIsResetOnlyWhileAllIsWell: while the store can't be written to, the manager
// hears that, and nothing else.
func TestTheWatchdogIsResetOnlyWhileAllIsWell(t *testing.T) {
	t.Parallel()
	var looks atomic.Int64
	r, next := listening(t, func(context.Context) error {
		if n := looks.Add(1); n > 2 && n <= 6 {
			return errors.New("the store can't be written to:\nno space left on device")
		}
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.run(ctx) }()
	defer func() { cancel(); <-ended }()
	for i, want := range []string{
		"STATUS=runs the hooks of units; none has run yet", "WATCHDOG=1", "WATCHDOG=1",
		"STATUS=the store can't be written to: no space left on device", // for four looks
		"STATUS=runs the hooks of units; none has run yet", "WATCHDOG=1", "WATCHDOG=1",
	} {
		if got := next(); got != want {
			t.Fatalf("it says %q, and then not %q (%d)", got, want, i)
		}
	}
	if n := looks.Load(); n < 8 {
		t.Errorf("it has looked %d times", n)
	}
}

func TestTheStatusSaysWhatHasRun(t *testing.T) {
	t.Parallel()
	r, next := listening(t, func(context.Context) error { return nil })
	r.manager.Watchdog = 0
	for _, o := range []history.Outcome{history.Committed, history.Failed} {
		r.observe(machine.Event{Kind: machine.HookRun, Model: "default", Unit: "a/0", Run: history.Entry{Name: "install", Hook: hooks.Info{Kind: hooks.Install}, Outcome: o}})
	}
	r.observe(machine.Event{Kind: machine.LogLine, Model: "default", Unit: "a/0"})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.run(ctx) }()
	defer func() { cancel(); <-ended }()
	if got, want := next(), "STATUS=has run 2 hooks, 1 of which failed; the last was install of a/0 in model default, which failed"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
