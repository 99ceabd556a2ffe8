package tools

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/tools/wire"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func serve(t testing.TB, patience time.Duration) *Server {
	t.Helper()
	s, err := listen(filepath.Join(t.TempDir(), "s"), quiet(), patience, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends one request as the client does.
func ask(t testing.TB, s *Server, req wire.Request) wire.Reply {
	t.Helper()
	conn, err := net.Dial("unix", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(wire.AppendRequest(nil, req)); err != nil {
		t.Fatal(err)
	}
	reply, err := wire.ReadReply(conn)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func title(id string) wire.Request {
	return wire.Request{Context: id, Dir: "/", Args: []string{"config-get", "title"}}
}

func TestOnlyTheRunningHookIsServed(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	refused := "ERROR bad request: the context id is not that of a running hook\n"
	before := ask(t, s, title(""))
	mustBe(t, "before any hook", string(before.Stderr), refused)

	first := s.Begin(hookOf(newMemory(), plainHook()))
	if !regexp.MustCompile(`^app/0-config-changed-[0-9a-f]{32}$`).MatchString(first) {
		t.Errorf("context id %q", first)
	}
	mustBe(t, "in the hook", string(ask(t, s, title(first)).Stdout), "My Title\n")
	s.End()
	late := ask(t, s, title(first))
	mustBe(t, "after the hook", string(late.Stderr), refused)
	mustBe(t, "exit code after the hook", late.Code, 1)

	second := s.Begin(hookOf(newMemory(), plainHook()))
	if second == first {
		t.Error("two runs have the same id")
	}
	leftover := ask(t, s, title(first))
	mustBe(t, "in another hook", string(leftover.Stderr), refused)
	mustBe(t, "with nothing said", len(leftover.Stdout), 0)
}

// TestARunThatAToolEndsAnswersNobody before it has ended, and makes no call more.
func TestARunThatAToolEndsAnswersNobody(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{"unitd-fail", "juju-reboot --now"} {
		s := serve(t, patience)
		told := make(chan bool, 2)
		p := paramsOf(newMemory(), plainHook())
		p.FailNow = func() { told <- true }
		p.RebootNow = p.FailNow
		c := hookcontext.New(p)
		id := s.Begin(c)
		replies := make(chan string, 2)
		call := func(args ...string) {
			replies <- string(ask(t, s, wire.Request{Context: id, Dir: "/", Args: args}).Stderr)
		}
		go call(strings.Fields(ending)...)
		<-told
		go call("state-set", "after=1")
		for connected := 0; connected < 2; {
			s.mu.Lock()
			connected = len(s.clients)
			s.mu.Unlock()
		}
		s.End()
		for range 2 {
			mustBe(t, ending, <-replies, "ERROR bad request: the context id is not that of a running hook\n")
		}
		mustBe(t, "writes", len(c.Changes().State), 0)
		_, failed := c.Failed()
		mustBe(t, "it has failed", failed, ending == "unitd-fail")
		mustBe(t, "it wants a reboot", c.Changes().Reboot == model.RebootNow, ending != "unitd-fail")
	}
}

// slowView is a model whose leadership takes until it is let go.
type slowView struct {
	*memory
	asked, answer chan struct{}
}

func (v *slowView) Leads() (int64, error) {
	close(v.asked)
	<-v.answer
	return 1, nil
}

func TestEndWaitsForCallsInFlight(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	view := &slowView{newMemory(), make(chan struct{}), make(chan struct{})}
	id := s.Begin(hookOf(view, plainHook()))
	reply := make(chan wire.Reply, 1)
	go func() { reply <- ask(t, s, wire.Request{Context: id, Dir: "/", Args: []string{"is-leader"}}) }()
	<-view.asked
	ended := make(chan struct{})
	go func() { s.End(); close(ended) }()
	// The server is closed for the run before it waits.
	for string(ask(t, s, title(id)).Stdout) != "" {
		select {
		case <-ended:
			t.Fatal("End returned while a call was running")
		default:
		}
	}
	select {
	case <-ended:
		t.Error("End returned while a call was running")
	default:
	}
	close(view.answer)
	mustBe(t, "the call in flight", string((<-reply).Stdout), "True\n")
	<-ended
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	c := hookOf(newMemory(), relationHook())
	id := s.Begin(c)
	var calls sync.WaitGroup
	const n = 200
	for i := range n {
		calls.Add(1)
		go func() {
			defer calls.Done()
			args := []string{"relation-set", fmt.Sprintf("k%d=v", i)}
			if reply := ask(t, s, wire.Request{Context: id, Dir: "/", Args: args}); reply.Code != 0 {
				t.Errorf("%s", reply.Stderr)
			}
		}()
	}
	calls.Wait()
	s.End()
	mustBe(t, "settings written", len(c.Changes().Relations[3].Unit), n)
}

func TestSlowAndBrokenPeersHurtNobodyElse(t *testing.T) {
	t.Parallel()
	s := serve(t, 50*time.Millisecond)
	id := s.Begin(hookOf(newMemory(), plainHook()))
	whole := wire.AppendRequest(nil, title(id))
	var peers []net.Conn
	for _, sent := range [][]byte{nil, whole[:1], whole[:len(whole)-1]} {
		conn, err := net.Dial("unix", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(sent); err != nil {
			t.Fatal(err)
		}
		peers = append(peers, conn)
	}
	mustBe(t, "meanwhile", string(ask(t, s, title(id)).Stdout), "My Title\n")
	for _, conn := range peers {
		got, err := io.ReadAll(conn)
		if err != nil || len(got) > 0 {
			t.Errorf("a peer that sent no request got %q, %v", got, err)
		}
	}
	conn, err := net.Dial("unix", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	reply, err := wire.ReadReply(conn)
	mustBe(t, "another protocol", string(reply.Stderr), "ERROR bad request: unknown version of the hook tool protocol\n")
	mustBe(t, "another protocol", err, nil)
}

// panicking is a model with a bug.
type panicking struct{ *memory }

func (panicking) Config() (map[string]any, error) { panic("a bug") }

func TestAToolThatPanicsFailsAlone(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	id := s.Begin(hookOf(panicking{newMemory()}, plainHook()))
	reply := ask(t, s, title(id))
	mustBe(t, "exit code", reply.Code, 1)
	mustBe(t, "stderr", string(reply.Stderr), "ERROR hook tool panicked; see the agent's log\n")
	mustBe(t, "the next call", string(ask(t, s, wire.Request{Context: id, Dir: "/", Args: []string{"is-leader"}}).Stdout), "True\n")
}

func TestCallsAreToldWithoutTheirValues(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	var told []Call
	s.OnCall(func(c Call) { told = append(told, c) })
	id := s.Begin(hookOf(newMemory(), relationHook()))
	for _, args := range [][]string{
		{"relation-set", "password=s3cret", "--file=-"}, {"status-set", "active", "a=b"}, {"nosuch", "x"},
		{"state-set", "--file", "-"},
	} {
		ask(t, s, wire.Request{Context: id, Dir: "/", Args: args, StdinSet: args[0] == "relation-set", Stdin: nil})
	}
	s.End()
	var text strings.Builder
	for _, c := range told {
		fmt.Fprintf(&text, "%s %q %d\n", c.Tool, c.Args, c.Code)
		if c.Duration <= 0 {
			t.Errorf("%s took %v", c.Tool, c.Duration)
		}
	}
	mustBe(t, "calls", text.String(), "relation-set [\"password=…\" \"--file=-\"] 0\n"+
		"status-set [\"active\" \"a=b\"] 0\nnosuch [\"x\"] 1\n")
}

func TestCallsAreToldWithAllThatARecordingNeeds(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	var told []Call
	s.OnCall(func(c Call) { told = append(told, c) })
	began := time.Now()
	id := s.Begin(hookOf(newMemory(), relationHook()))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("a: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []wire.Request{
		{Args: []string{"relation-set", "password=s3cret", "--file=-"}, StdinSet: true, Stdin: []byte("c: d\n")},
		{Args: []string{"state-set", "--file", "f"}},
		{Args: []string{"state-set", "--file", "nowhere"}},
		{Args: []string{"config-get", "title"}},
	} {
		r.Context, r.Dir = id, dir
		ask(t, s, r)
	}
	s.End()
	var text strings.Builder
	for _, c := range told {
		fmt.Fprintf(&text, "%q %t %q %q %d %q %.8q\n", c.Request.Args, c.Request.StdinSet, c.Request.Stdin, c.File, c.Reply.Code, c.Reply.Stdout, c.Reply.Stderr)
		if c.Began.Before(began) || time.Since(c.Began) < c.Duration {
			t.Errorf("%s began at %v, and took %v", c.Tool, c.Began, c.Duration)
		}
	}
	mustBe(t, "calls", text.String(), `["relation-set" "password=s3cret" "--file=-"] true "c: d\n" "" 0 "" ""
["state-set" "--file" "f"] false "" "a: b\n" 0 "" ""
["state-set" "--file" "nowhere"] false "" "" 1 "" "ERROR op"
["config-get" "title"] false "" "" 0 "My Title\n" ""
`)
}

func TestOnlyTheOwnUserAndRootAreServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uid, own, hooks int
		want            bool
	}{{1000, 1000, 1000, true}, {0, 1000, 1000, true}, {1001, 1000, 1000, false}, {1000, 0, 0, false}, {170, 0, 170, true}, {171, 0, 170, false}} {
		mustBe(t, fmt.Sprintf("user %d of an agent of %d", c.uid, c.own), callers{hooks: c.hooks}.may(c.uid, c.own), c.want)
	}
}

func TestTheSocketIsTheOwnersAndReplacesAStaleOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Listen(path, quiet())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "mode", info.Mode(), os.ModeSocket|0o600)
	mustBe(t, "address", s.Addr(), path)
	id := s.Begin(hookOf(newMemory(), plainHook()))
	mustBe(t, "a call", string(ask(t, s, title(id)).Stdout), "My Title\n")

	next, err := Listen(path, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	id = next.Begin(hookOf(newMemory(), plainHook()))
	mustBe(t, "a call after the first has closed", string(ask(t, next, title(id)).Stdout), "My Title\n")
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestAFileInTheSocketsPlaceIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, quiet()); !errors.Is(err, errors.AlreadyExists) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, []byte("precious")) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestALongPathIsReplacedByAShortOne(t *testing.T) {
	t.Parallel()
	s, err := Listen(filepath.Join(t.TempDir(), strings.Repeat("x", 120)), quiet())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Stat(filepath.Dir(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "mode of its directory", dir.Mode(), os.ModeDir|0o700)
	id := s.Begin(hookOf(newMemory(), plainHook()))
	mustBe(t, "a call", string(ask(t, s, title(id)).Stdout), "My Title\n")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(s.Addr())); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
}

func TestCloseHangsUp(t *testing.T) {
	t.Parallel()
	s, err := Listen(filepath.Join(t.TempDir(), "s"), quiet())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("still connected")
	}
}
