package workload_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/testcharms/images"
	"github.com/unitd/unitd/workload"
)

// port is one that is free on the host, whose network the containers have.
func (w *world) port() int {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.ok(err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// imaged is a container that is made of an image.
func (w *world) imaged(name string, port int, i images.Image) workload.Container {
	w.t.Helper()
	c := w.container(name, port)
	source, err := oci.ReadSource("oci-archive:" + images.WriteOCI(w.t, i, name))
	w.ok(err)
	resolved, err := (&oci.Cache{Dir: filepath.Join(w.dir, "images")}).Resolve(w.t.Context(), source)
	w.ok(err)
	w.t.Cleanup(resolved.Release)
	c.Image.Reference, err = oci.Parse(resolved.Reference)
	w.ok(err)
	c.Digest = resolved.Digest
	return c
}

// run is what a command prints in a container, and its error.
func (w *world) run(c workload.Container, o pebble.ExecOptions) (string, error) {
	w.t.Helper()
	var out bytes.Buffer
	o.Stdout = &out
	p, err := pebble.New(c.Socket()).Exec(w.t.Context(), o)
	w.ok(err)
	err = p.Wait()
	return out.String(), err
}

func (w *world) layer(c workload.Container, label, yaml string) {
	w.t.Helper()
	w.ok(pebble.New(c.Socket()).AddLayer(w.t.Context(), pebble.Layer{Label: label, Combine: true, YAML: yaml}))
}

// has says whether there is an event of that kind, of the check or with the key.
func has(kind pebble.EventKind, of string) func(workload.State) bool {
	return func(s workload.State) bool {
		for _, e := range s.Events {
			if e.Kind == kind && (e.Check == of || e.Key == of) {
				return runs(s)
			}
		}
		return false
	}
}

// TestHostAContainerIsItsImageAndBeginsAnewWithEachStart: K-001, K-033 to K-039,
// K-058, K-098.
func TestHostAContainerIsItsImageAndBeginsAnewWithEachStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.unit()
	c := w.imaged("web", w.port(), images.WithPebbleLayer(images.Busybox(t), "001-base", `
services:
  base: {override: replace, startup: enabled, command: /bin/sleep 1000}
checks:
  sick: {override: replace, period: 20ms, threshold: 1, exec: {command: /bin/false}}
`))
	stored := filepath.Join(w.dir, "stored")
	w.ok(os.Mkdir(stored, 0o755))
	c.Binds = append(c.Binds, isolate.Bind{From: stored, To: "/data"})
	w.ok(u.Set(t.Context(), nil, []workload.Container{c}))
	first := w.until(u, "web", has(pebble.EventCheckFailed, "sick"))
	client := pebble.New(c.Socket())
	t.Run("K-001", func(t *testing.T) {
		if out, err := w.run(c, pebble.ExecOptions{Command: []string{"sh", "-c", "cat /etc/passwd; ls /usr /home 2>&1; echo $PATH"}}); err != nil ||
			!strings.Contains(out, "web:x:584792:") || strings.Count(out, "No such file") != 2 || !strings.HasSuffix(out, "\n/bin\n") {
			t.Errorf("the root isn't the image's: %v, %s", err, out)
		}
	})
	t.Run("K-036", func(t *testing.T) {
		if kernels, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err != nil || first.Pebble.Boot == strings.TrimSpace(string(kernels)) {
			t.Errorf("its boot id is the kernel's: Pebble isn't PID 1 (%v)", err)
		}
		if out, err := w.run(c, pebble.ExecOptions{Command: []string{"readlink", "/proc/1/exe"}}); err != nil || out != workload.Program+"\n" {
			t.Errorf("PID 1 is %q, %v", out, err)
		}
	})
	t.Run("K-037", func(t *testing.T) {
		services, err := client.Services(t.Context())
		if err != nil || len(services) != 1 || services[0].Name != "base" || services[0].Current != "inactive" {
			t.Errorf("services: %+v, %v", services, err)
		}
		w.ok(client.Replan(t.Context()))
		if services, err = client.Services(t.Context()); err != nil || services[0].Current != "active" {
			t.Errorf("after a replan: %+v, %v", services, err)
		}
	})
	copied := filepath.Join(c.Dir, "pebble", "layers", "001-base.yaml")
	text, err := os.ReadFile(copied)
	w.ok(err)
	w.ok(os.WriteFile(copied, append(text, "# changed here\n"...), 0o600))
	w.layer(c, "charms", "services: {charms: {override: replace, command: /bin/sleep 1000}}")
	for _, path := range []string{"/etc/pushed", "/data/pushed"} {
		w.ok(client.WriteFile(t.Context(), path, strings.NewReader("x"), pebble.WriteOptions{}))
	}
	long, err := client.Exec(t.Context(), pebble.ExecOptions{Command: []string{"sleep", "1000"}})
	w.ok(err)

	w.kill(c.Key)
	again := w.until(u, "web", func(s workload.State) bool { return runs(s) && s.Restarts == 1 })
	t.Run("K-058", func(t *testing.T) {
		if err := long.Wait(); err == nil {
			t.Error("a command of the container that was killed has ended well")
		}
	})
	t.Run("K-033", func(t *testing.T) {
		if again.Pebble.Boot == first.Pebble.Boot || !again.Pebble.Since.After(first.Pebble.Since) {
			t.Errorf("it is %+v, was %+v", again, first)
		}
	})
	t.Run("K-034", func(t *testing.T) {
		plan, err := client.Plan(t.Context())
		if err != nil || strings.Contains(plan, "charms") || !strings.Contains(plan, "base") {
			t.Errorf("%v: the plan is %s", err, plan)
		}
		if services, err := client.Services(t.Context()); err != nil || len(services) != 1 || services[0].Current != "inactive" {
			t.Errorf("services: %+v, %v", services, err)
		}
	})
	t.Run("K-038", func(t *testing.T) {
		layers, err := os.ReadDir(filepath.Dir(copied))
		text, _ := os.ReadFile(copied)
		if err != nil || len(layers) != 1 || !strings.Contains(string(text), "# changed here") {
			t.Errorf("there are %v, %v: %s", layers, err, text)
		}
	})
	t.Run("K-098", func(t *testing.T) {
		if out, _ := w.run(c, pebble.ExecOptions{Command: []string{"ls", "/etc/pushed", "/data/pushed"}}); !strings.HasSuffix(out, "\n/data/pushed\n") {
			t.Errorf("the file in the root is there, or that on storage isn't: %s", out)
		}
	})
	w.ok(u.Remove(t.Context()))
}

// TestHostPebbleEndsForAServiceAndForACheck: K-049, K-050.
func TestHostPebbleEndsForAServiceAndForACheck(t *testing.T) {
	t.Parallel()
	w, clock := newWoundWorld(t)
	u := w.unit()
	c := w.container("web", w.port())
	w.ok(u.Set(t.Context(), nil, []workload.Container{c}))
	w.until(u, "web", runs)
	w.kill(c.Key) // the next end makes a pause, and is seen
	restarts := 1
	for _, end := range []struct {
		id, layer string
		faults    []string // any of them
		log       string
	}{
		// The agent waits for notices then, mostly, in a request that this Pebble ends
		// with in place of its reason.
		{"K-049", `services: {a: {override: replace, command: sh -c 'sleep 3; exit 3', on-failure: shutdown}}`,
			[]string{"its Pebble has ended with exit code 1", "one of its services has ended, which ends the container"},
			`Service "a" on-failure action is "shutdown"`},
		{"K-050", `
services: {a: {override: replace, command: sleep 1000, on-check-failure: {ill: shutdown}}}
checks: {ill: {override: replace, startup: disabled, period: 20ms, threshold: 1, exec: {command: "false"}}}`,
			[]string{"one of its checks has failed, which ends the container"}, `Check "ill" threshold 1 hit`},
	} {
		t.Run(end.id, func(t *testing.T) {
			was := w.until(u, "web", func(s workload.State) bool { return runs(s) && s.Restarts == restarts })
			w.layer(c, "a", end.layer)
			client := pebble.New(c.Socket())
			w.ok(client.Start(t.Context(), "a"))
			if end.id == "K-050" {
				_, err := client.StartChecks(t.Context(), "ill")
				w.ok(err)
			}
			waits := w.until(u, "web", func(s workload.State) bool { return s.Phase == workload.Waiting })
			log, err := os.ReadFile(c.Log)
			w.ok(err)
			// After the cause comes what Pebble said last, if it did.
			told := slices.ContainsFunc(end.faults, func(fault string) bool { return strings.HasPrefix(waits.Fault, fault) })
			if !told || !bytes.Contains(log, []byte(end.log)) {
				t.Errorf("it is %+v; %s", waits, log)
			}
			clock.Set(waits.Until)
			restarts++
			now := w.until(u, "web", func(s workload.State) bool { return runs(s) && s.Restarts == restarts })
			if now.Pebble.Boot == was.Pebble.Boot {
				t.Errorf("it is %+v, was %+v", now, was)
			}
		})
	}
	w.ok(u.Remove(t.Context()))
}

// TestHostASocketThatIsNoPebblesIsRepairedByARestart: K-061, K-062.
func TestHostASocketThatIsNoPebblesIsRepairedByARestart(t *testing.T) {
	t.Parallel()
	w, _ := newWoundWorld(t)
	u := w.unit()
	c := w.container("web", w.port())
	w.ok(u.Set(t.Context(), nil, []workload.Container{c}))
	first := w.until(u, "web", runs)
	w.ok(os.Remove(c.Socket()))
	gone := func(s workload.State) bool { return s.Pebble.Boot == "" }
	// A long poll that has begun goes on: who asks anew finds nobody.
	w.until(u, "web", gone)
	l, err := net.Listen("unix", c.Socket())
	w.ok(err)
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ngarbage")
			conn.Close()
		}
	}()
	if s := w.until(u, "web", func(s workload.State) bool { return s.Pebble.Fault != "" }); s.Restarts > 0 {
		t.Errorf("it is %+v", s)
	}
	w.ok(l.Close())
	w.kill(c.Key)
	if now := w.until(u, "web", runs); now.Pebble.Boot == first.Pebble.Boot || now.Pebble.Fault != "" || now.Restarts != 1 {
		t.Errorf("it is %+v, was %+v", now, first)
	}
	w.ok(u.Remove(t.Context()))
}

// TestHostNoticesOfAContainer: K-069, K-072, K-076, K-077.
func TestHostNoticesOfAContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.unit()
	c := w.container("web", w.port())
	w.ok(os.MkdirAll(c.Dir, 0o755))
	w.ok(os.Mkdir(filepath.Join(c.Dir, "pebble"), 0o700))
	w.ok(os.WriteFile(filepath.Join(c.Dir, "pebble", ".pebble.state"), []byte(agedNotices(t, 6*24*time.Hour, 8*24*time.Hour)), 0o600))
	w.ok(u.Set(t.Context(), nil, []workload.Container{c}))
	client := pebble.New(c.Socket())
	t.Run("K-072", func(t *testing.T) {
		if s := w.until(u, "web", has(pebble.EventCustom, "example.com/days-6")); len(s.Events) != 1 {
			t.Errorf("it is %+v", s)
		}
	})
	t.Run("K-069", func(t *testing.T) {
		for range 2 {
			_, err := client.AddNotice(t.Context(), pebble.NewNotice{Key: "example.com/seldom", RepeatAfter: time.Hour})
			w.ok(err)
		}
		seldom := w.until(u, "web", has(pebble.EventCustom, "example.com/seldom")).Events[1]
		_, err := client.AddNotice(t.Context(), pebble.NewNotice{Key: "example.com/often"})
		w.ok(err)
		if s := w.until(u, "web", has(pebble.EventCustom, "example.com/often")); len(s.Events) != 3 || s.Events[1] != seldom {
			t.Errorf("it is %+v", s)
		}
		if n, err := client.Notice(t.Context(), seldom.ID); err != nil || n.Occurrences != 2 {
			t.Errorf("the notice is %+v, %v", n, err)
		}
	})
	t.Run("K-076", func(t *testing.T) {
		other := 1001
		out, err := w.run(c, pebble.ExecOptions{
			Command: []string{workload.Program, "notify", "example.com/others", "k=v"}, Owner: pebble.Owner{UserID: &other, GroupID: &other},
		})
		if err != nil {
			t.Fatal(err, out)
		}
		w.until(u, "web", has(pebble.EventCustom, "example.com/others"))
	})
	t.Run("K-077", func(t *testing.T) {
		var refused *pebble.APIError
		if _, err := client.AddNotice(t.Context(), pebble.NewNotice{Key: "foo"}); !errors.As(err, &refused) || refused.Status != 400 {
			t.Errorf("got %v", err)
		}
		if s := w.until(u, "web", runs); len(s.Events) != 4 {
			t.Errorf("it is %+v", s)
		}
	})
	w.ok(u.Remove(t.Context()))
}

// agedNotices is a state that a former Pebble has left: custom notices of that age.
func agedNotices(t *testing.T, ages ...time.Duration) string {
	t.Helper()
	var all []string
	for i, age := range ages {
		at := time.Now().UTC().Add(-age).Format(time.RFC3339)
		all = append(all, fmt.Sprintf(`{"id":"%d","user-id":0,"type":"custom","key":"example.com/days-%d","first-occurred":"%[3]s","last-occurred":"%[3]s",`+
			`"last-repeated":"%[3]s","occurrences":1,"expire-after":"168h0m0s"}`, i+1, age/(24*time.Hour), at))
	}
	return fmt.Sprintf(`{"data":{},"changes":{},"tasks":{},"last-change-id":0,"last-task-id":0,"last-lane-id":0,"last-notice-id":%d,"notices":[%s]}`,
		len(all), strings.Join(all, ","))
}

// TestHostK130OpsTestsPassInAContainer, with files that both sides see at the same
// path.
func TestHostK130OpsTestsPassInAContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.unit()
	c := w.container("web", w.port())
	shared := filepath.Join(w.dir, "shared")
	w.ok(os.MkdirAll(shared, 0o755))
	c.Binds = append(c.Binds, isolate.Bind{From: shared, To: shared})
	defer func() { w.ok(u.Remove(t.Context())) }() // also where there are no tests of Ops'
	w.ok(u.Set(t.Context(), nil, []workload.Container{c}))
	w.until(u, "web", runs)
	pebbletest.OpsTests(t.Context(), t, pebbletest.Ops{Socket: c.Socket(), HTTP: fmt.Sprintf("127.0.0.1:%d", c.Port), Temp: shared})
}
