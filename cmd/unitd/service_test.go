package main_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/sealed"
	"github.com/unitd/unitd/testcharms"
)

// served is the real program as a service, in a data directory of its own.
type served struct {
	t     *testing.T
	unitd string
	env   []string
	dir   string // short, for sockets
}

func newServed(t *testing.T) *served {
	t.Helper()
	programs, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	unitd, err := filepath.Abs(filepath.Join(programs, "unitd"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &served{t, unitd, append(os.Environ(), "UNITD_DATA="+filepath.Join(dir, "data"), "HOME="+dir), dir}
}

// socket is one that the service sends datagrams to.
func (s *served) socket(name string) (string, *net.UnixConn) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return path, conn
}

// next is the next datagram.
func (s *served) next(conn *net.UnixConn) string {
	s.t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	b := make([]byte, 1<<16)
	n, err := conn.Read(b)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b[:n])
}

// until are the datagrams up to one that begins so.
func (s *served) until(conn *net.UnixConn, prefix string) (all []string) {
	s.t.Helper()
	for {
		all = append(all, s.next(conn))
		if strings.HasPrefix(all[len(all)-1], prefix) {
			return all
		}
	}
}

// start begins the program, which is killed at the test's end if it runs then.
func (s *served) start(env []string, args ...string) (cmd *exec.Cmd, said *bytes.Buffer) {
	s.t.Helper()
	cmd, said = exec.Command(s.unitd, args...), &bytes.Buffer{}
	cmd.Env = append(append([]string(nil), s.env...), env...)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd, said
}

// command runs a command to its end.
func (s *served) command(env []string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(s.unitd, args...)
	cmd.Env = append(append([]string(nil), s.env...), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("unitd %q: %v: %s", args, err, out)
	}
	return string(out)
}

// end ends it as service managers do.
func (s *served) end(cmd *exec.Cmd, said *bytes.Buffer) {
	s.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		s.t.Errorf("it ends with %v: %s", err, said)
	}
}

// TestAnAgentTellsItsServiceManagerHowItIs: the real program, from its start to its end.
func TestAnAgentTellsItsServiceManagerHowItIs(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	path, manager := s.socket("notify")
	cmd, said := s.start([]string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=400000"}, "agent")
	before := s.until(manager, "READY=1")
	if len(before) != 2 || before[0] != "STATUS=runs the hooks of units; none has run yet" {
		t.Errorf("before it is ready it says %q", before)
	}
	if out := s.command(nil, "status"); !strings.Contains(out, "default") { // hooks can run: there is an agent
		t.Errorf("status shows %s", out)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "data", "run.socket")); err != nil {
		t.Errorf("it was ready before it listened: %v", err)
	}
	s.until(manager, "WATCHDOG=1")

	// A reload begins and ends.
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	begun := s.until(manager, "RELOADING=1\nMONOTONIC_USEC=")
	if _, err := strconv.ParseInt(strings.TrimPrefix(begun[len(begun)-1], "RELOADING=1\nMONOTONIC_USEC="), 10, 64); err != nil {
		t.Errorf("it says %q", begun)
	}
	s.until(manager, "READY=1")

	// What hooks do is told, and they aren't told of the manager.
	charm := testcharms.Copy(t, "noop")
	s.command(nil, "deploy", charm)
	s.command(nil, "wait", "--timeout", "600s")
	s.until(manager, "STATUS=has run ")

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.until(manager, "STOPPING=1")
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v: %s", err, said)
	}
}

// TestAnAgentThatCannotStartIsNeverReady: what keeps it from starting is said before.
func TestAnAgentThatCannotStartIsNeverReady(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	path, manager := s.socket("notify")
	if err := os.Mkdir(filepath.Join(s.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "data", "store.db"), []byte("no store, though long enough to be read as one"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, said := s.start([]string{"NOTIFY_SOCKET=" + path}, "agent")
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "ERROR ") {
		t.Errorf("it ends with %v: %s", err, said)
	}
	_ = manager.SetReadDeadline(time.Now()) // what it has sent is there
	b := make([]byte, 100)
	if n, err := manager.Read(b); err == nil {
		t.Errorf("it says %q", b[:n])
	}
}

// TestAServiceHasItsCredentials: the key for secrets and the token for metrics.
func TestAServiceHasItsCredentials(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	credentials := filepath.Join(s.dir, "credentials")
	if err := os.Mkdir(credentials, 0o700); err != nil {
		t.Fatal(err)
	}
	keys, err := sealed.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.WriteFile(filepath.Join(credentials, "secret-key")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(credentials, "listen-token"), []byte("a-token-of-20-letters\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	env := []string{"CREDENTIALS_DIRECTORY=" + credentials}
	path, manager := s.socket("notify")
	address := freeAddress(t)
	cmd, said := s.start(append(env, "NOTIFY_SOCKET="+path), "agent", "--listen", address)
	s.until(manager, "READY=1")
	for token, want := range map[string]int{"": http.StatusUnauthorized, "Bearer a-token-of-20-letters": http.StatusOK} {
		request, err := http.NewRequest(http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("with %q the answer is %d", token, answer.StatusCode)
		}
	}
	s.command(env, "add-secret", "door", "code=1234")
	if out := s.command(env, "show-secret", "door", "--reveal"); !strings.Contains(out, "1234") {
		t.Errorf("the secret is %s", out)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "data", "secret.key")); !os.IsNotExist(err) {
		t.Errorf("there is another key beside the credential: %v", err)
	}
	without := exec.Command(s.unitd, "show-secret", "door", "--reveal")
	without.Env = s.env
	if out, err := without.CombinedOutput(); err == nil || strings.Contains(string(out), "1234") {
		t.Errorf("without the credential it shows %s", out)
	}
	s.end(cmd, said)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestThePageIsServedOnTheSocketThatWasPassed: a listener of the test is the program's third
// descriptor, as a service manager passes it.
func TestThePageIsServedOnTheSocketThatWasPassed(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.command(nil, "add-model", "shop")
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	page := s.passed(l).end
	address := "http://" + l.Addr().String()
	get := func(token string) (int, string) {
		t.Helper()
		request, err := http.NewRequest(http.MethodGet, address+"/unit?name=a/0", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := (&http.Client{Timeout: 2 * time.Minute}).Do(request) // it waits in the socket until the page is served
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(b)
	}
	if code, body := get("guessed"); code != http.StatusUnauthorized {
		t.Errorf("without the token the answer is %d %s", code, body)
	}
	file := filepath.Join(s.dir, "data", "ui.token")
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the token's file is %v, %v", st.Mode(), err)
	}
	if code, body := get(strings.TrimSpace(string(token))); code != http.StatusNotFound { // there is no unit
		t.Errorf("with the token the answer is %d %s", code, body)
	}
	said := page()
	if !strings.Contains(said, "The page of model shop: "+address+"/ (the token, for #token=TOKEN at its end, is in "+file+")") || strings.Contains(said, strings.TrimSpace(string(token))) {
		t.Errorf("it says %s", said)
	}
	page = s.passed(l).end
	if code, body := get(strings.TrimSpace(string(token))); code != http.StatusNotFound {
		t.Errorf("another time the answer is %d %s", code, body)
	}
	page()

	open, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4zero})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if said := s.refused(open); !strings.Contains(said, "can be reached by others, and the page is served on loopback only") {
		t.Errorf("it says %s", said)
	}
}

// page is the page on a socket that was passed.
type page struct {
	cmd  *exec.Cmd
	said *bytes.Buffer
}

// end ends the page, and has what it has said.
func (p page) end() string {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
	return p.said.String()
}

// refused is what the page says that doesn't take a listener, and ends by itself.
func (s *served) refused(l *net.TCPListener) string {
	s.t.Helper()
	p := s.passed(l)
	if err := p.cmd.Wait(); err == nil {
		s.t.Error("it ends with 0")
	}
	return p.said.String()
}

// passed serves the page on a listener.
func (s *served) passed(l *net.TCPListener) page {
	s.t.Helper()
	f, err := l.File()
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	p := page{exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" ui`, s.unitd), &bytes.Buffer{}} // LISTEN_PID is the program's own
	p.cmd.Env = append(append([]string(nil), s.env...), "LISTEN_FDS=1")
	p.cmd.ExtraFiles, p.cmd.Stdout, p.cmd.Stderr = []*os.File{f}, p.said, p.said
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	return p
}
