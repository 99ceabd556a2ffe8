package sessions_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/juju/errors"

	"github.com/unitd/unitd/sessions"
)

// served is a server of sessions, and of pages, on loopback.
type served struct {
	*testing.T
	*sessions.Server
	address string
}

// serve has sessions run "sh -c" with their words; what is to be run is checked by who has one.
func serve(t *testing.T) *served {
	t.Helper()
	s, err := sessions.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	s.Log = func(msg string, args ...any) { t.Log(append([]any{msg}, args...)...) }
	s.Command = func(model string, r sessions.Request) (*exec.Cmd, error) {
		if r.Verb == "no" {
			return nil, errors.New("that isn't run here")
		}
		cmd := exec.Command("sh", append([]string{"-c"}, r.Words...)...)
		cmd.Env = append(os.Environ(), "MODEL="+model)
		return cmd, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a page") }),
		ReadHeaderTimeout: time.Minute,
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate(t)}}
	s.Serve(config, server)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = server.Serve(tls.NewListener(l, config))
	}()
	t.Cleanup(func() { server.Close(); <-over })
	return &served{t, s, l.Addr().String()}
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// call is one that is expected.
func (s *served) call(script string, in io.Reader) (c sessions.Call, out, err *bytes.Buffer) {
	s.Helper()
	self, e := sessions.NewIdentity()
	if e == nil {
		e = s.Expect(self.Print, "the-model")
	}
	if e != nil {
		s.Fatal(e)
	}
	out, err = new(bytes.Buffer), new(bytes.Buffer)
	return sessions.Call{
		Self: self, Door: sessions.Door{Addresses: []string{s.address}, Print: s.Print()},
		Request: sessions.Request{Words: []string{script}}, In: in, Out: out, Err: err,
	}, out, err
}

func TestAProgramHasPipes(t *testing.T) {
	t.Parallel()
	s := serve(t)
	long := strings.Repeat("a line that is long enough to be parted somewhere\n", 10_000)
	c, out, trouble := s.call(`cat; echo "it is $MODEL" >&2; test -t 0 && exit 1; exit 7`, strings.NewReader(long))
	exit, err := c.Run(t.Context())
	if err != nil || exit != 7 {
		t.Errorf("it ends with %d, %v", exit, err)
	}
	if out.String() != long {
		t.Errorf("%d bytes come back of %d", out.Len(), len(long))
	}
	if trouble.String() != "it is the-model\n" {
		t.Errorf("its standard error: %q", trouble)
	}
	c, _, _ = s.call("kill -KILL $$", nil)
	if exit, err := c.Run(t.Context()); err != nil || exit != 128+9 {
		t.Errorf("one that is killed ends with %d, %v", exit, err)
	}
	c, out, _ = s.call("cat", nil) // whose input is at its end
	if exit, err := c.Run(t.Context()); err != nil || exit != 0 || out.Len() > 0 {
		t.Errorf("without input: %d, %v, %q", exit, err, out)
	}
}

// TestAProgramHasATerminal: one that is as large as the person's, and is told when that
// changes.
func TestAProgramHasATerminal(t *testing.T) {
	t.Parallel()
	s := serve(t)
	master, tty, err := pty.Open()
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	defer master.Close()
	defer tty.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 31, Cols: 97}); err != nil {
		t.Fatal(err)
	}
	c, _, _ := s.call(`trap 'stty size' WINCH; test -t 0 && test -t 1 && test -t 2 && stty size
		until read line; do :; done; echo "it is $line"; exit 3`, tty)
	c.Out = tty
	c.Terminal = sessions.SizeOf(tty, tty)
	type ending struct {
		exit int
		err  error
	}
	ended := make(chan ending, 1)
	go func() {
		exit, err := c.Run(t.Context())
		ended <- ending{exit, err}
	}()
	shown := reader{t, master, ""}
	shown.until("31 97\r\n")
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 5, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	// The terminal isn't this process's, so nobody else says that its size has changed.
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	shown.until("5 40\r\n")
	fmt.Fprint(master, "so\r")
	shown.until("it is so\r\n")
	if e := <-ended; e.err != nil || e.exit != 3 {
		t.Errorf("it ends with %d, %v", e.exit, e.err)
	}
}

// reader reads what a terminal shows.
type reader struct {
	*testing.T
	from  io.Reader
	shown string
}

func (r *reader) until(text string) {
	r.Helper()
	b := make([]byte, 1)
	for !strings.Contains(r.shown, text) {
		if _, err := r.from.Read(b); err != nil {
			r.Fatalf("%v after %q, not %q", err, r.shown, text)
		}
		r.shown += string(b)
	}
}

func TestWhoIsNotExpectedIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, out, _ := s.call("echo yes", nil)
	stranger, err := sessions.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	strange := c
	strange.Self = stranger
	if exit, err := strange.Run(t.Context()); err == nil {
		t.Errorf("a stranger's ends with %d", exit)
	}
	mistaken := c
	mistaken.Door.Print = stranger.Print
	if _, err := mistaken.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "somebody else answers there") {
		t.Errorf("an agent that is another one: %v", err)
	}
	if _, err := c.Run(t.Context()); err != nil || out.String() != "yes\n" {
		t.Errorf("who is expected: %q, %v", out, err)
	}
	if _, err := c.Run(t.Context()); err == nil {
		t.Error("a session begins a second time")
	}
	if out.String() != "yes\n" {
		t.Errorf("what ran beside: %q", out)
	}
	c, _, _ = s.call("echo yes", nil)
	c.Verb = "no"
	if _, err := c.Run(t.Context()); !errors.Is(err, sessions.ErrRefused) || err.Error() != "that isn't run here" {
		t.Errorf("what is refused: %v", err)
	}
	for _, print := range []sessions.Print{"", "aa", sessions.Print(strings.Repeat("x", 64))} {
		if err := s.Expect(print, "m"); !errors.Is(err, errors.NotValid) {
			t.Errorf("the print %q: %v", print, err)
		}
	}
}

// TestNobodyIsExpectedWithoutEnd: who asks and never comes can't fill the memory.
func TestNobodyIsExpectedWithoutEnd(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		err = s.Expect(sessions.Print(fmt.Sprintf("%064x", i)), "m")
	}
	if !errors.Is(err, errors.QuotaLimitExceeded) {
		t.Errorf("a thousand: %v", err)
	}
}

func TestThePagesOfTheListenerStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	s := serve(t)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	reply, err := (&http.Client{Transport: transport}).Get("https://" + s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if b, err := io.ReadAll(reply.Body); err != nil || string(b) != "a page" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestAProgramEndsWithItsSession: also one that doesn't want to.
func TestAProgramEndsWithItsSession(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, trap := range []string{"", "trap '' TERM HUP; "} {
		file := filepath.Join(t.TempDir(), "pid")
		in, keys := io.Pipe()
		defer keys.Close()
		c, _, _ := s.call(fmt.Sprintf("%ssleep 1000 & echo $! >%[2]s.new; mv %[2]s.new %[2]s; wait", trap, file), in)
		var cut func()
		c.Door.Addresses[0], cut = s.wire()
		ended := make(chan error, 1)
		go func() {
			_, err := c.Run(t.Context())
			ended <- err
		}()
		var text []byte
		for len(text) == 0 {
			text, _ = os.ReadFile(file)
		}
		cut()
		if err := <-ended; !errors.Is(err, sessions.ErrLost) {
			t.Errorf("the person is told %v", err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("process %d goes on, with %q", pid, trap)
			}
		}
	}
}

// wire leads one connection to the server until it is cut.
func (s *served) wire() (address string, cut func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { l.Close() })
	from := make(chan net.Conn, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", s.address)
		if err != nil {
			conn.Close()
			return
		}
		from <- conn
		go func() { _, _ = io.Copy(conn, to) }()
		_, _ = io.Copy(to, conn)
		to.Close()
	}()
	return l.Addr().String(), func() { (<-from).Close() }
}

// TestAPersonInterruptsAProgram: and hears how it has ended.
func TestAPersonInterruptsAProgram(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, _, _ := s.call("trap 'exit 4' INT; echo ready; while :; do sleep 0.05; done", nil)
	ctx, stop := context.WithCancel(t.Context())
	c.Out = stopper(stop)
	if exit, err := c.Run(ctx); err != nil || exit != 4 {
		t.Errorf("it ends with %d, %v", exit, err)
	}
}

// endless is input without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = "x\n"[i%2]
	}
	return len(b), nil
}

// TestAProgramNeedNotReadItsInput: whoever has more for it can interrupt it, hears how it has
// ended, and loses nothing of what it wrote.
func TestAProgramNeedNotReadItsInput(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, _, _ := s.call("trap 'exit 4' INT; echo ready; while :; do sleep 0.05; done", endless{})
	ctx, stop := context.WithCancel(t.Context())
	c.Out = stopper(stop)
	if exit, err := c.Run(ctx); err != nil || exit != 4 {
		t.Errorf("one that is interrupted ends with %d, %v", exit, err)
	}
	c, out, _ := s.call("head -n 1; seq 100000", endless{})
	if exit, err := c.Run(t.Context()); err != nil || exit != 0 || out.Len() != 2+588895 {
		t.Errorf("one that reads a line ends with %d, %v, and %d bytes", exit, err, out.Len())
	}
}

// slow takes its time with what it is given first.
type slow struct {
	bytes.Buffer
	once sync.Once
}

func (s *slow) Write(b []byte) (int, error) {
	s.once.Do(func() { time.Sleep(3 * time.Second) })
	return s.Buffer.Write(b)
}

// TestASlowReaderLosesNothing: what a program has written is there long after its end.
func TestASlowReaderLosesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, _, _ := s.call("seq 2000000", nil)
	var out slow
	c.Out = &out
	if exit, err := c.Run(t.Context()); err != nil || exit != 0 || out.Len() != 14888896 {
		t.Errorf("it ends with %d, %v, and %d bytes", exit, err, out.Len())
	}
	// What stays in the background isn't waited for.
	c, text, _ := s.call("sleep 1000 & echo $!", nil)
	if exit, err := c.Run(t.Context()); err != nil || exit != 0 {
		t.Errorf("one that leaves something running ends with %d, %v", exit, err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(text.String())); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestSessionsEndWithTheAgent: with their programs.
func TestSessionsEndWithTheAgent(t *testing.T) {
	t.Parallel()
	for _, trap := range []string{"", "trap '' TERM HUP; "} {
		s := serve(t)
		c, _, _ := s.call(trap+"echo $$; while :; do sleep 0.05; done", nil)
		pid := make(chan string, 1)
		c.Out = teller(pid)
		ended := make(chan error, 1)
		go func() {
			_, err := c.Run(t.Context())
			ended <- err
		}()
		n, err := strconv.Atoi(strings.TrimSpace(<-pid))
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if syscall.Kill(n, 0) == nil {
			t.Errorf("process %d goes on, with %q", n, trap)
		}
		<-ended
		s.Hold()() // nothing comes back that was closed
		late, _, _ := s.call("echo late", nil)
		if _, err := late.Run(t.Context()); !errors.Is(err, sessions.ErrRefused) {
			t.Errorf("one begins after the end: %v", err)
		}
	}
}

// TestSessionsBeginAgainWhereTheAgentGoesOn: it has tried to become another program, and couldn't.
func TestSessionsBeginAgainWhereTheAgentGoesOn(t *testing.T) {
	t.Parallel()
	s := serve(t)
	back := s.Hold()
	early, _, _ := s.call("echo early", nil)
	if _, err := early.Run(t.Context()); !errors.Is(err, sessions.ErrRefused) {
		t.Errorf("one begins meanwhile: %v", err)
	}
	back()
	c, out, _ := s.call("echo again", nil)
	if _, err := c.Run(t.Context()); err != nil || out.String() != "again\n" {
		t.Errorf("one that begins then: %q, %v", out, err)
	}
}

// teller tells what is written first.
type teller chan string

func (to teller) Write(b []byte) (int, error) {
	select {
	case to <- string(b):
	default:
	}
	return len(b), nil
}

// stopper stops something as soon as it is written to.
type stopper func()

func (s stopper) Write(b []byte) (int, error) {
	s()
	return len(b), nil
}

// zombie says whether a process has ended, and nobody has taken note of it yet.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}
