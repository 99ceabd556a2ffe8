package service

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// Variables are those by which a service manager speaks to one process alone, which others
// that this one begins must not take for theirs.
func Variables() []string {
	return []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}
}

// Manager is who has begun this process as a service. A nil one is nobody: it is told nothing.
// It is safe for use by many goroutines. That it can't be told something is no reason to stop
// a service: it then does as its configuration says.
type Manager struct {
	// Watchdog is within what time the manager wants to hear that this process is well; 0: it
	// doesn't.
	Watchdog time.Duration

	mu     sync.Mutex
	conn   *net.UnixConn
	ready  atomic.Bool
	status string
}

// FindManager is who has begun this process, as the environment says, and nil if nobody has. It
// takes what says so out of the environment.
func FindManager() (*Manager, error) {
	path, usec, pid := os.Getenv("NOTIFY_SOCKET"), os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID")
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		os.Unsetenv(name)
	}
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' && path[0] != '@' { // the latter is an abstract one
		return nil, errors.Errorf("cannot tell the service manager anything: NOTIFY_SOCKET=%s is no path", path)
	}
	m, err := Dial(path)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseInt(usec, 10, 64); err == nil && n > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		m.Watchdog = time.Duration(n) * time.Microsecond
	}
	return m, nil
}

// Dial is the manager that listens at a path.
func Dial(path string) (*Manager, error) {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, errors.Annotate(err, "cannot tell the service manager anything")
	}
	return &Manager{conn: conn}, nil
}

// Ready says that the service has started.
func (m *Manager) Ready() {
	if m == nil {
		return
	}
	m.ready.Store(true)
	m.tell("READY=1")
}

// Reload says that the service reloads what do reloads, and then that it has. Who waits for
// that is told when it has begun, by the clock that all processes of the host have. A service
// that isn't ready yet says nothing of it.
func (m *Manager) Reload(do func()) {
	if m == nil || !m.ready.Load() {
		do()
		return
	}
	defer m.Ready()
	defer do()
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // there is one
	m.tell(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000))
}

// Stopping says that it is about to end.
func (m *Manager) Stopping() { m.tell("STOPPING=1") }

// Well says that it is well, which resets the watchdog.
func (m *Manager) Well() { m.tell("WATCHDOG=1") }

// Status says in a line what it is doing, if that is something else than it has said last.
func (m *Manager) Status(line string) {
	if m == nil {
		return
	}
	line = strings.Join(strings.Fields(line), " ")
	m.mu.Lock()
	same := line == m.status
	m.status = line
	m.mu.Unlock()
	if !same {
		m.tell("STATUS=" + line)
	}
}

func (m *Manager) tell(what string) {
	if m == nil {
		return
	}
	_ = m.conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = m.conn.Write([]byte(what))
}

// Close lets go of the manager.
func (m *Manager) Close() {
	if m != nil {
		_ = m.conn.Close()
	}
}
