package publish_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unitd/unitd/publish"
)

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// server is a backend that serves each connection by serve.
func server(t *testing.T, serve func(*net.TCPConn)) string {
	t.Helper()
	l := listen(t, "127.0.0.1:0")
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn.(*net.TCPConn))
			}()
		}
	}()
	return l.Addr().String()
}

// says is a server that says its name.
func says(t *testing.T, name string) string {
	return server(t, func(c *net.TCPConn) { fmt.Fprintln(c, name) })
}

// dead is an address at which nobody listens.
func dead(t *testing.T) string {
	l := listen(t, "127.0.0.1:0")
	l.Close()
	return l.Addr().String()
}

func forward(t *testing.T, backends ...string) *publish.Forward {
	t.Helper()
	f := publish.Open(t.Context(), listen(t, "127.0.0.1:0"), backends...)
	t.Cleanup(f.Close)
	return f
}

func dial(t *testing.T, f *publish.Forward) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", f.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
	return c.(*net.TCPConn)
}

func readAll(t *testing.T, f *publish.Forward) string {
	t.Helper()
	b, err := io.ReadAll(dial(t, f))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestConnectionsGoToTheBackendsInTurn(t *testing.T) {
	t.Parallel()
	f := forward(t, says(t, "a"), says(t, "b"), says(t, "c"))
	var got string
	for range 6 {
		got += strings.TrimSpace(readAll(t, f))
	}
	if got != "abcabc" {
		t.Errorf("got %s", got)
	}
	f.To([]string{says(t, "d")})
	if got := readAll(t, f); got != "d\n" {
		t.Errorf("after the backends have changed: got %s", got)
	}
}

func TestADeadBackendIsPassedOver(t *testing.T) {
	t.Parallel()
	f := forward(t, dead(t), says(t, "b"))
	for range 4 {
		if got := readAll(t, f); got != "b\n" {
			t.Errorf("got %q", got)
		}
	}
	if c := f.Counts(); c.Accepted != 4 || c.Passed == 0 || c.Failed != 0 {
		t.Errorf("%+v", c)
	}
}

func TestWithoutABackendTheConnectionIsReset(t *testing.T) {
	t.Parallel()
	for _, f := range []*publish.Forward{forward(t), forward(t, dead(t))} {
		c, err := net.Dial("tcp", f.Addr().String()) // which may have the reset already
		if err == nil {
			_, err = io.ReadAll(c)
			c.Close()
		}
		if err == nil {
			t.Error("the connection ends as if somebody had served it")
		}
		ended(t, f)
		if c := f.Counts(); c.Failed != 1 {
			t.Errorf("%+v", c)
		}
	}
}

// TestEachHalfEndsByItself: a client that has said all goes on reading, and a
// backend that has goes on as well.
func TestEachHalfEndsByItself(t *testing.T) {
	t.Parallel()
	f := forward(t, server(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c) // ends only once the client's half has
		fmt.Fprintf(c, "got %d", len(all))
	}))
	c := dial(t, f)
	const size = 1 << 20
	if _, err := c.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c); err != nil || string(b) != fmt.Sprint("got ", size) {
		t.Errorf("%q, %v", b, err)
	}

	heard := make(chan string, 1)
	f = forward(t, server(t, func(c *net.TCPConn) {
		fmt.Fprint(c, "hello")
		_ = c.CloseWrite()
		all, _ := io.ReadAll(c)
		heard <- string(all)
	}))
	c = dial(t, f)
	if b, err := io.ReadAll(c); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	fmt.Fprint(c, "still here")
	_ = c.CloseWrite()
	if got := <-heard; got != "still here" {
		t.Errorf("the backend has heard %q", got)
	}
}

// TestABackendThatBreaksEndsItsClient: what is reset on one side isn't left open on
// the other.
func TestABackendThatBreaksEndsItsClient(t *testing.T) {
	t.Parallel()
	f := forward(t, server(t, func(c *net.TCPConn) {
		_, _ = bufio.NewReader(c).ReadString('\n')
		_ = c.SetLinger(0)
	}))
	c := dial(t, f)
	fmt.Fprintln(c, "go")
	_, _ = io.ReadAll(c) // hangs if the client's half stays
	ended(t, f)
}

// ended waits until no connection is left.
func ended(t *testing.T, f *publish.Forward) {
	t.Helper()
	over := time.Now().Add(5 * time.Minute)
	for f.Counts().Active != 0 {
		if time.Now().After(over) {
			t.Fatalf("%+v", f.Counts())
		}
		time.Sleep(time.Millisecond)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("files can't be counted here")
	}
	return len(all)
}

// TestTenThousandConnectionsLeaveNothing is not parallel: it counts the files of the
// process.
func TestTenThousandConnectionsLeaveNothing(t *testing.T) {
	f := forward(t, server(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) }), dead(t))
	before := openFiles(t)
	const all, atOnce = 10_000, 50
	var wait sync.WaitGroup
	work := make(chan int)
	for range atOnce {
		wait.Go(func() {
			for n := range work {
				if err := echo(f, n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range all {
		work <- n
	}
	close(work)
	wait.Wait()
	ended(t, f)
	if c := f.Counts(); c.Accepted != all || c.Failed != 0 {
		t.Errorf("%+v", c)
	}
	f.Close()
	// The backend's ends, which are this process's too, close a moment later.
	over := time.Now().Add(5 * time.Minute)
	for openFiles(t) > before {
		if time.Now().After(over) {
			t.Fatalf("%d files are open, %d were before", openFiles(t), before)
		}
		time.Sleep(time.Millisecond)
	}
}

func echo(f *publish.Forward, n int) error {
	c, err := net.Dial("tcp", f.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
	said := fmt.Sprint("number ", n)
	if _, err := io.WriteString(c, said); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	got, err := io.ReadAll(c)
	if err == nil && string(got) != said {
		err = fmt.Errorf("%q came back as %q", said, got)
	}
	return err
}

func TestTheContextEndsAll(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := publish.Open(ctx, listen(t, "127.0.0.1:0"), server(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) }))
	c := dial(t, f)
	fmt.Fprint(c, "x")
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection goes on")
	}
	f.Close() // waits for what is left
	if f.Counts().Active != 0 {
		t.Errorf("%+v", f.Counts())
	}
	if c, err := net.Dial("tcp", f.Addr().String()); err == nil {
		c.Close()
		t.Error("somebody listens still")
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	var s publish.Set
	t.Cleanup(s.Close)
	taken := listen(t, "127.0.0.1:0").Addr().String()
	var at net.Addr
	open := func() (net.Listener, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			at = l.Addr()
		}
		return l, err
	}
	want := map[string]publish.Want{
		"a": {Listen: open, Backends: []string{says(t, "a")}},
		"b": {Listen: func() (net.Listener, error) { return net.Listen("tcp", taken) }},
	}
	failed := s.Apply(t.Context(), want)
	if len(failed) != 1 || failed["b"] == nil {
		t.Errorf("failed: %v", failed)
	}
	want["a"] = publish.Want{Listen: open, Backends: []string{says(t, "other")}}
	delete(want, "b")
	was := at
	if failed := s.Apply(t.Context(), want); len(failed) != 0 || at != was {
		t.Errorf("failed: %v, at %v and then %v", failed, was, at)
	}
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, err := io.ReadAll(c); string(b) != "other\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	s.Apply(t.Context(), nil)
	if len(s.Counts()) != 0 {
		t.Errorf("%v", s.Counts())
	}
	if c, err := net.Dial("tcp", at.String()); err == nil {
		c.Close()
		t.Error("what nobody wants any more listens still")
	}
}
