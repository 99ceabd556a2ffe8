package pebble_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
)

// calls are all calls of a client that could wait for Pebble.
func calls(ctx context.Context, c *pebble.Client) map[string]func() error {
	return map[string]func() error{
		"SystemInfo": func() error { _, err := c.SystemInfo(ctx); return err },
		"Notices":    func() error { _, err := c.Notices(ctx, pebble.NoticesQuery{}); return err },
		"Notices, wait": func() error {
			_, err := c.Notices(ctx, pebble.NoticesQuery{Wait: 10 * time.Millisecond})
			return err
		},
		"Notice":     func() error { _, err := c.Notice(ctx, "1"); return err },
		"AddNotice":  func() error { _, err := c.AddNotice(ctx, pebble.NewNotice{Key: "example.com/a"}); return err },
		"Change":     func() error { _, err := c.Change(ctx, "1"); return err },
		"Health":     func() error { _, err := c.Health(ctx, pebble.LevelAlive); return err },
		"Checks":     func() error { _, err := c.Checks(ctx, pebble.LevelUnset); return err },
		"StopChecks": func() error { _, err := c.StopChecks(ctx, "x"); return err },
		"Services":   func() error { _, err := c.Services(ctx); return err },
		"Start":      func() error { return c.Start(ctx, "x") },
		"Signal":     func() error { return c.Signal(ctx, "SIGHUP", "x") },
		"Plan":       func() error { _, err := c.Plan(ctx); return err },
		"AddLayer":   func() error { return c.AddLayer(ctx, pebble.Layer{Label: "x"}) },
		"Logs": func() error {
			return c.Logs(ctx, pebble.LogsQuery{Last: 5}, func(pebble.LogEntry) error { return nil })
		},
		"Logs, follow": func() error {
			return c.Logs(ctx, pebble.LogsQuery{Follow: true}, func(pebble.LogEntry) error { return nil })
		},
		"ReadFile": func() error { return c.ReadFile(ctx, "/etc/hosts", io.Discard) },
		"WriteFile": func() error {
			return c.WriteFile(ctx, "/nonexistent/x", bytes.NewReader(make([]byte, 4<<20)), pebble.WriteOptions{})
		},
		"Exec": func() error { _, err := c.Exec(ctx, pebble.ExecOptions{Command: []string{"true"}}); return err },
	}
}

// all makes all calls at once; each must end, by an error that matches.
func all(t *testing.T, c *pebble.Client, want error) {
	t.Helper()
	type ended struct {
		name string
		err  error
	}
	results, count := make(chan ended), 0
	for name, call := range calls(t.Context(), c) {
		count++
		go func() { results <- ended{name, call()} }()
	}
	for range count {
		r := <-results
		if r.name == "WriteFile" && errors.Is(r.err, pebble.ErrBroken) {
			continue // it was still sending when the connection was given up
		}
		wantError(t, r.name, r.err, want)
	}
}

func TestAPebbleThatIsNotThereIsToldApart(t *testing.T) { // K-061
	t.Parallel()
	p, c := start(t, pebbletest.Options{})
	must(t, os.Rename(p.Socket, p.Socket+".away"))
	all(t, c, pebble.ErrNotThere)
	must(t, os.Rename(p.Socket+".away", p.Socket))
	value[pebble.SystemInfo](t)(c.SystemInfo(t.Context()))
	p.Kill() // its socket stays
	all(t, c, pebble.ErrNotThere)
}

func TestAPebbleThatHangsHoldsNobodyUp(t *testing.T) { // K-059, K-060
	t.Parallel()
	p, c := start(t, pebbletest.Options{})
	c.Patience = 50 * time.Millisecond
	must(t, p.Halt())
	// Calls about files leave time for the disk: those are tried below.
	for name, call := range calls(t.Context(), c) {
		wantError(t, name, call(), pebble.ErrNoAnswer)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no longer wanted")
	go cancel(why)
	_, err := c.ListFiles(ctx, "/", pebble.ListOptions{})
	wantError(t, "a call that is given up", err, why)
	must(t, p.Resume())
	c.Patience = time.Minute
	value[pebble.SystemInfo](t)(c.SystemInfo(t.Context()))
}

func TestAPebbleThatHangsEndsACommandThatRuns(t *testing.T) { // K-059
	t.Parallel()
	p, c := start(t, pebbletest.Options{})
	out := make(told, 10)
	cmd := value[*pebble.Process](t)(c.Exec(t.Context(), pebble.ExecOptions{Command: sh("echo ready; exec cat"), Stdin: forever(t), Stdout: out}))
	<-out
	c.Patience = 50 * time.Millisecond
	must(t, p.Halt())
	wantError(t, "the command", cmd.Wait(), pebble.ErrNoAnswer)
}

// standIn answers in Pebble's place by what the function does with each
// connection: a real Pebble can't be made to.
func standIn(t *testing.T, serve func(net.Conn)) *pebble.Client {
	return pebble.New(standInAt(t, serve))
}

// standInAt is the socket of one.
func standInAt(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "unitd-stand-in-")
	must(t, err)
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	must(t, err)
	t.Cleanup(func() { _ = l.Close(); _ = os.RemoveAll(dir) })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); serve(conn) }()
		}
	}()
	return socket
}

// request reads the beginning of a request.
func request(conn net.Conn) { _, _ = conn.Read(make([]byte, 64<<10)) }

// answering is a stand-in that gives every request the same answer.
func answering(t *testing.T, header, body string) *pebble.Client {
	return standIn(t, func(conn net.Conn) {
		request(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n"+header+"\r\n"+body)
		if c, ok := conn.(*net.UnixConn); ok {
			_ = c.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, conn)
	})
}

func TestGarbageIsAnErrorOfItsOwnFromAStandIn(t *testing.T) { // K-062
	t.Parallel()
	for name, body := range map[string]string{
		"no JSON":              "hello",
		"nothing":              "",
		"JSON of something":    `{"hello":1}`,
		"another type":         `{"type":"later","result":{}}`,
		"a result that is odd": `{"type":"sync","result":[[[1]]],"change":7}`,
		"an odd refusal":       `{"type":"error","result":"no"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all(t, answering(t, "Content-Type: application/json\r\n", body), pebble.ErrGarbage)
		})
	}
	t.Run("no HTTP", func(t *testing.T) {
		t.Parallel()
		all(t, standIn(t, func(conn net.Conn) {
			request(conn)
			_, _ = io.WriteString(conn, "220 mail.example.com ESMTP\r\n")
			_, _ = io.Copy(io.Discard, conn)
		}), pebble.ErrGarbage)
	})
}

func TestAConnectionThatBreaksIsToldApartFromAStandIn(t *testing.T) {
	t.Parallel()
	all(t, standIn(t, request), pebble.ErrBroken)
	c := answering(t, "Content-Length: 100\r\nContent-Type: application/json\r\n", `{"type":"sync",`)
	_, err := c.SystemInfo(t.Context())
	wantError(t, "an answer that ends early", err, pebble.ErrBroken)
}

func TestAnAnswerWithoutEndIsBoundedFromAStandIn(t *testing.T) {
	t.Parallel()
	endless := func(before, what string) *pebble.Client {
		return standIn(t, func(conn net.Conn) {
			request(conn)
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+before)
			for block := strings.Repeat(what, 64<<10); err == nil; {
				_, err = io.WriteString(conn, block)
			}
		})
	}
	c := endless("\r\n{\"type\":\"", "x")
	c.Patience = time.Minute
	_, err := c.SystemInfo(t.Context())
	wantError(t, "a body", err, pebble.ErrGarbage)
	err = c.Logs(t.Context(), pebble.LogsQuery{Last: -1}, func(pebble.LogEntry) error { return nil })
	wantError(t, "a line of a log", err, pebble.ErrGarbage)
	c = endless("X: ", "x")
	_, err = c.SystemInfo(t.Context())
	wantError(t, "a header", err, pebble.ErrGarbage)
}

func TestAHangInTheMiddleOfAFileIsNoticedFromAStandIn(t *testing.T) {
	t.Parallel()
	c := standIn(t, func(conn net.Conn) {
		request(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n"+
			"--b\r\nContent-Disposition: form-data; name=\"files\"\r\n\r\nbeginning")
		_, _ = io.Copy(io.Discard, conn)
	})
	c.Patience = 50 * time.Millisecond
	wantError(t, "a file", c.ReadFile(t.Context(), "/x", io.Discard), pebble.ErrNoAnswer)
}

func TestARedirectIsNotFollowedFromAStandIn(t *testing.T) {
	t.Parallel()
	c := standIn(t, func(conn net.Conn) {
		request(conn)
		r := http.Response{StatusCode: http.StatusFound, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Location": {"http://127.0.0.1:1/"}}}
		_ = r.Write(conn)
	})
	_, err := c.SystemInfo(t.Context())
	wantError(t, "it", err, pebble.ErrGarbage)
}
