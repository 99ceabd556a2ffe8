package tools

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/tools/wire"
)

// dial connects, also where as many others wait as the system lets.
func dial(t testing.TB, s *Server) net.Conn {
	for {
		conn, err := net.Dial("unix", s.Addr())
		switch {
		case err == nil:
			return conn
		case !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.ECONNREFUSED):
			t.Error(err)
			return nil
		}
		runtime.Gosched()
	}
}

// announced is the beginning of a request that says how long it is.
func announced(head, stdin uint32) []byte {
	b := []byte{wire.Version, 1}
	b = binary.BigEndian.AppendUint32(b, head)
	return binary.BigEndian.AppendUint32(b, stdin)
}

// TestAThousandConnectionsAtOnce of good and bad callers: each good one is
// answered, each bad one is refused or hung up on, and nothing is left of them.
func TestAThousandConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	id := s.Begin(hookOf(newMemory(), plainHook()))
	good := wire.AppendRequest(nil, title(id))
	type peer struct{ name, sends, out, err string }
	peers := []peer{
		{"good", string(good), "My Title\n", ""},
		{"of another hook", string(wire.AppendRequest(nil, title(id+"0"))), "", "the context id is not that of a running hook"},
		{"of no hook", string(wire.AppendRequest(nil, title(""))), "", "the context id is not that of a running hook"},
		{"with a head that is too large", string(announced(1<<31, 0)), "", "hook tool call too large"},
		{"with an input that is too large", string(announced(4, 1<<31)), "", "hook tool call too large"},
		{"of another version", "\x02" + string(good[1:]), "", "unknown version of the hook tool protocol"},
		{"of another protocol", "GET / HTTP/1.1\r\n\r\n", "", "unknown version of the hook tool protocol"},
		{"with lengths that don't fit", string(announced(6, 0)) + "\x00\x00\x00\x09ab", "", "malformed hook tool call"},
		{"that stops within the request", string(good[:len(good)-1]), "", ""},
		{"that says nothing", "", "", ""},
	}
	var all sync.WaitGroup
	for i := range 1000 {
		all.Add(1)
		go func() {
			defer all.Done()
			p := peers[i%len(peers)]
			conn := dial(t, s)
			if conn == nil {
				return
			}
			defer conn.Close()
			// Whoever is refused may be hung up on before it has sent all.
			_, _ = conn.Write([]byte(p.sends))
			_ = conn.(*net.UnixConn).CloseWrite()
			reply, err := wire.ReadReply(conn)
			switch {
			case p.out == "" && p.err == "":
				if err == nil {
					t.Errorf("one %s got %+v", p.name, reply)
				}
			case err != nil:
				t.Errorf("one %s: %v", p.name, err)
			case string(reply.Stdout) != p.out || !strings.Contains(string(reply.Stderr), p.err):
				t.Errorf("one %s got %+v", p.name, reply)
			}
		}()
	}
	all.Wait()
	mustBe(t, "afterwards", string(ask(t, s, title(id)).Stdout), "My Title\n")
	if err := s.Close(); err != nil { // it waits for all that it has begun
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mustBe(t, "connections left", len(s.clients), 0)
	mustBe(t, "slots taken", len(s.slots), 0)
}

// TestACallerThatDoesNotReadIsHungUpOn once it has kept the agent waiting, and
// keeps nobody else.
func TestACallerThatDoesNotReadIsHungUpOn(t *testing.T) {
	t.Parallel()
	s := serve(t, 3*time.Second)
	view := newMemory()
	view.config["huge"] = strings.Repeat("x", 1<<20)
	id := s.Begin(hookOf(view, plainHook()))
	for range maxConnections {
		conn := dial(t, s)
		defer conn.Close()
		if _, err := conn.Write(wire.AppendRequest(nil, wire.Request{Context: id, Dir: "/", Args: []string{"config-get", "huge"}})); err != nil {
			t.Fatal(err)
		}
	}
	mustBe(t, "meanwhile", string(ask(t, s, title(id)).Stdout), "My Title\n")
}

// FuzzServer sends anything: the answer is a reply or none, and the next caller
// is served.
func FuzzServer(f *testing.F) {
	s := serve(f, patience)
	id := s.Begin(hookOf(newMemory(), plainHook()))
	good := wire.AppendRequest(nil, title("ID"))
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add(append(bytes.Clone(good), 0))
	f.Add(announced(1<<30, 1<<30))
	f.Add(announced(0, 0))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		sent = bytes.ReplaceAll(sent, []byte("ID"), []byte(id))
		conn := dial(t, s)
		defer conn.Close()
		_, _ = conn.Write(sent)
		_ = conn.(*net.UnixConn).CloseWrite()
		if _, err := wire.ReadReply(conn); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%q: %v", sent, err)
		}
		if got := ask(t, s, title(id)); string(got.Stdout) != "My Title\n" {
			t.Errorf("after %q: %+v", sent, got)
		}
	})
}
