package isolate_test

import (
	"context"
	"encoding/json"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble/pebbletest"
)

// pebble says that a container's first program is the real Pebble.
func pebble(tb testing.TB, spec isolate.Spec) isolate.Spec {
	tb.Helper()
	const inside = "/charm/bin/pebble"
	spec.Binds = append(spec.Binds, isolate.Bind{From: pebbletest.Program(tb), To: inside, ReadOnly: true})
	spec.First.Path, spec.First.Args = inside, []string{"run", "--create-dirs", "--hold", "--verbose"}
	spec.First.Env = []string{"PATH=" + isolate.Path, "PEBBLE_SOCKET=" + scratch + "/socket", "PEBBLE=" + scratch + "/pebble"}
	return spec
}

// bootOf waits until the Pebble at a socket answers, and is its boot id.
func bootOf(tb testing.TB, socket string, running func() bool) string {
	tb.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	for running() {
		r, err := client.Get("http://pebble/v1/system-info")
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		var info struct {
			Result struct {
				BootID string `json:"boot-id"`
			}
		}
		err = json.NewDecoder(r.Body).Decode(&info)
		r.Body.Close()
		if err != nil {
			tb.Fatal(err)
		}
		return info.Result.BootID
	}
	tb.Fatal("Pebble has ended")
	return ""
}

// bareArgs are those of a Pebble that nobody isolates.
var bareArgs = []string{"--create-dirs", "--hold", "--verbose"}

// TestHostPebbleHasAnotherBootAtEachStart, as it is PID 1 (K-033, K-035), and its
// private memory is that of a Pebble which nobody isolates, within a megabyte.
func TestHostPebbleHasAnotherBootAtEachStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unit := w.open("app/0", model.IsolateOn)
	spec := pebble(t, w.container("web", unit))
	socket := short(t, filepath.Join(spec.Binds[0].From, "socket"))
	c := w.start("web", spec)
	first := bootOf(t, socket, c.Running)
	bare := pebbletest.Start(t, pebbletest.Options{Args: bareArgs})
	if boot := bootOf(t, bare.Socket, func() bool { return true }); boot == first {
		t.Error("one that isn't PID 1 has the same boot")
	}
	in, out := privateDirty(t, c.Pid()), privateDirty(t, bare.Pid())
	if t.Logf("private dirty memory: %d KiB in the container, %d KiB outside", in, out); in > out+1024 {
		t.Errorf("%d KiB in the container, %d KiB outside", in, out)
	}
	must(t, c.Stop(context.Background(), time.Hour))
	c = w.start("web", spec)
	if again := bootOf(t, socket, c.Running); again == first || again == "" {
		t.Errorf("the boot is %q, was %q", again, first)
	}
}

// BenchmarkPebbleAnswers is the time from Open to Pebble's first answer.
//
//	go test ./isolate -run '^$' -bench PebbleAnswers -benchtime 30x
func BenchmarkPebbleAnswers(b *testing.B) {
	t := &testing.T{}
	w := benchWorld(b, t)
	unit, err := w.cells.Open(context.Background(), unitKey, w.spec("app/0", model.IsolateOn))
	if err != nil {
		b.Skip(err)
	}
	spec := pebble(b, w.container("web", unit))
	socket := filepath.Join(b.TempDir(), "s")
	must(t, os.Symlink(filepath.Join(spec.Binds[0].From, "socket"), socket))
	for b.Loop() {
		c, err := w.cells.Open(context.Background(), isolate.ContainerKey(unitKey, "web"), spec)
		if err != nil {
			b.Fatal(err)
		}
		bootOf(b, socket, c.Running)
		b.StopTimer()
		must(t, c.Stop(context.Background(), 0))
		b.StartTimer()
	}
}

// TestHostAContainersPebbleAnswersNotMuchLaterThanABareOne: the bound is generous, as
// hosts are busy; the figure is the benchmark's.
func TestHostAContainersPebbleAnswersNotMuchLaterThanABareOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unit := w.open("app/0", model.IsolateOn)
	spec := pebble(t, w.container("web", unit))
	socket := short(t, filepath.Join(spec.Binds[0].From, "socket"))
	best := math.Inf(1)
	for range 4 {
		began := time.Now()
		c := w.start("web", spec)
		bootOf(t, socket, c.Running)
		in := time.Since(began)
		must(t, c.Stop(context.Background(), 0))
		bare := pebbletest.New(t, pebbletest.Options{Args: bareArgs, Started: true})
		began = time.Now()
		must(t, bare.Run())
		bootOf(t, bare.Socket, func() bool { return true })
		out := time.Since(began)
		bare.Kill()
		t.Logf("%v in a container, %v outside", in, out)
		best = min(best, in.Seconds()/out.Seconds())
	}
	if best > 12 {
		t.Errorf("it takes %.1f times as long in a container", best)
	}
}
