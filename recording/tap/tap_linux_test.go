package tap_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/recording/tap"
)

// size is that of a large answer.
const size = 8 << 20

// pebble answers at a socket: /uid with whom has connected, /large with much, /wait
// when the client has gone, and to a websocket with what it is sent.
func pebble(t testing.TB) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "pebble.socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/uid", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range size >> 16 {
			_, _ = w.Write(make([]byte, 1<<16))
		}
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("/v1/exec", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"type":"async","change":"7","result":{"task-id":"9"}}`)
	})
	mux.HandleFunc("/v1/tasks/9/websocket/stdio", func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		kind, b, err := ws.Read(r.Context())
		for ; err == nil; kind, b, err = ws.Read(r.Context()) {
			_ = ws.Write(r.Context(), kind, b)
		}
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(peers{l}) }()
	t.Cleanup(func() { server.Close() })
	return socket
}

// peers has connections tell whose they are.
type peers struct{ net.Listener }

func (p peers) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	who := "?"
	_ = raw.Control(func(fd uintptr) {
		if u, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			who = fmt.Sprintf("%d:%d", u.Uid, u.Gid)
		}
	})
	return named{c, who}, nil
}

type named struct {
	net.Conn
	who string
}

func (n named) RemoteAddr() net.Addr { return &net.UnixAddr{Name: n.who} }

func clientOf(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
}

// opened is a tap in front of a Pebble.
func opened(t *testing.T) (socket string, p *tap.Tap, r *recording.Recorder) {
	t.Helper()
	return tapFor(t, pebble(t))
}

func tapFor(t testing.TB, socket string) (string, *tap.Tap, *recording.Recorder) {
	t.Helper()
	// Paths of sockets have to be short; those of an agent aren't.
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 90))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := recording.NewRecorder(time.Now())
	p, err := tap.Open(tap.Options{Path: filepath.Join(dir, "tap"), Pebble: socket, Container: "web", Recorder: r})
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "tap")
	if err := os.Symlink(filepath.Join(dir, "tap"), short); err != nil {
		t.Fatal(err)
	}
	return short, p, r
}

func get(t testing.TB, c *http.Client, path string) string {
	t.Helper()
	answer, err := c.Get("http://pebble" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestATapCarriesAllAndTakesItDown(t *testing.T) {
	t.Parallel()
	socket, p, r := opened(t)
	c := clientOf(socket)
	if got := len(get(t, c, "/large?x=y")); got != size {
		t.Errorf("%d bytes came, of %d", got, size)
	}
	answer, err := c.Post("http://pebble/echo", "text/plain", strings.NewReader("said"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(answer.Body); string(b) != "said" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	answer.Body.Close()
	runs(t, c)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	asked, cutOff := r.Asked()
	if len(asked) != 3 || cutOff {
		t.Fatalf("%d requests: %+v", len(asked), asked)
	}
	if large := asked[0]; large.String() != "web: GET /large?x=y" || large.Answer.Size != size || !large.Answer.LeftOut() {
		t.Errorf("%s: %+v", large, large.Answer)
	}
	if echo := asked[1]; string(echo.Body.Bytes) != "said" || string(echo.Answer.Bytes) != "said" || echo.Body.Type != "text/plain" || echo.Status != 200 {
		t.Errorf("%+v", echo)
	}
	if e := asked[2].Exec; e == nil || string(e.Stdin.Bytes) != "in and out" || string(e.Stdout.Bytes) != "in and out" {
		t.Errorf("%+v", e)
	}
}

// runs runs a command that says what it is told.
func runs(t *testing.T, c *http.Client) {
	t.Helper()
	answer, err := c.Post("http://pebble/v1/exec", "application/json", strings.NewReader(`{"command":["cat"]}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	ws, _, err := websocket.Dial(t.Context(), "ws://pebble/v1/tasks/9/websocket/stdio", &websocket.DialOptions{HTTPClient: c})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	for _, piece := range []string{"in and", " out"} {
		if err := ws.Write(t.Context(), websocket.MessageBinary, []byte(piece)); err != nil {
			t.Fatal(err)
		}
		if _, b, err := ws.Read(t.Context()); err != nil || string(b) != piece {
			t.Fatalf("%q, %v", b, err)
		}
	}
}

func TestAConnectionThatOutlivesTheTapIsServedAndNotTakenDown(t *testing.T) {
	t.Parallel()
	socket, p, r := opened(t)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	talk := func() {
		t.Helper()
		if _, err := io.WriteString(conn, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nsaid"); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(answer.Body); string(b) != "said" || err != nil {
			t.Fatalf("%q, %v", b, err)
		}
	}
	talk()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	talk()
	if asked, _ := r.Asked(); len(asked) != 1 {
		t.Errorf("%d requests", len(asked))
	}
	if _, err := net.Dial("unix", socket); err == nil {
		t.Error("the tap's socket is still there")
	}
}

func TestHostPebbleSeesWhoAsks(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be others")
	}
	socket, p, _ := opened(t)
	if got := get(t, clientOf(socket), "/uid"); got != "0:0" {
		t.Errorf("root is seen as %s", got)
	}
	// As somebody else, who needn't find the way: the thread that connects is his.
	fd, err := unix.Open(socket, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	done := make(chan string)
	go func() {
		runtime.LockOSThread() // and never unlocked
		_, _, _ = syscall.RawSyscall(unix.SYS_SETRESGID, ^uintptr(0), 170, ^uintptr(0))
		_, _, _ = syscall.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 171, ^uintptr(0))
		done <- askBare(fmt.Sprintf("/proc/self/fd/%d", fd))
	}()
	if got := <-done; !strings.HasSuffix(got, "171:170") {
		t.Errorf("somebody else is seen as %s", got)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// askBare asks /uid without a goroutine of its own.
func askBare(socket string) string {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		return err.Error()
	}
	if _, err := f.WriteString("GET /uid HTTP/1.0\r\n\r\n"); err != nil {
		return err.Error()
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// BenchmarkAnswer is how long a small answer takes, from Pebble's socket and from a
// tap's, and a large one.
func BenchmarkAnswer(b *testing.B) {
	socket := pebble(b)
	tapped, p, _ := tapFor(b, socket)
	defer p.Close()
	for _, path := range []string{"/uid", "/large"} {
		for name, at := range map[string]string{"direct": socket, "tapped": tapped} {
			b.Run(path[1:]+"/"+name, func(b *testing.B) {
				c := clientOf(at)
				for b.Loop() {
					get(b, c, path)
				}
			})
		}
	}
}
