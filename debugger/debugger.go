package debugger

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/juju/errors"
)

const (
	// SocketName is the socket's name in a unit's directory.
	SocketName = "debug.socket"
	// maxPath is how long the path of a socket can be everywhere.
	maxPath = 103
	// patience is how long somebody who listens may take to say whether the
	// hook is wanted: a command that was stopped says nothing.
	patience = 2 * time.Second
)

// ErrEnded is that the person has gone away in the middle of a hook.
const ErrEnded = errors.ConstError("the debug session has ended in the hook")

// Offer is a run of a hook that is to begin.
type Offer struct {
	Unit string `json:"unit"`
	Hook string `json:"hook"` // its name
	Run  int64  `json:"run"`
	// About says for people what it is about: "db-relation-joined (db:3, db/0)".
	About string   `json:"about"`
	Env   []string `json:"env"` // all of it
	Dir   string   `json:"dir"`
	// Path is the executable; empty: the charm has none for this hook.
	Path string `json:"path,omitempty"`
	// Cell is the directory of the unit's cell, and Tmp that of the cell's /tmp, both on the
	// host, if it is isolated: Dir and Path are as they are in it.
	Cell string `json:"cell,omitempty"`
	Tmp  string `json:"tmp,omitempty"`
}

// Wanted says whether the offer is for one of the hooks: all of them, if there
// is none or "*".
func (o Offer) Wanted(hooks []string) bool {
	return len(hooks) == 0 || slices.Contains(hooks, "*") || slices.Contains(hooks, o.Hook)
}

// answer is what the person's command says: first Take, then Exit.
type answer struct {
	Take *bool `json:"take,omitempty"`
	Exit *int  `json:"exit,omitempty"`
}

// Run offers a run to who listens in a unit's directory, if anybody does, and
// waits until it is over: until its exit code is there, or ctx ends; taken is
// called once somebody has taken it. It is false where nobody listens, or nobody wants the hook: then the agent runs it.
// The error is ErrEnded, or that of ctx.
func Run(ctx context.Context, dir string, o Offer, taken func()) (exit int, was bool, err error) {
	path, err := address(dir)
	if err != nil {
		return 0, false, nil
	}
	conn, err := net.DialTimeout("unix", path, patience)
	if err != nil {
		return 0, false, nil // nobody listens: the socket was left behind
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if err := json.NewEncoder(conn).Encode(o); err != nil {
		return 0, false, nil
	}
	in := json.NewDecoder(bufio.NewReader(conn))
	var a answer
	err = in.Decode(&a)
	switch {
	case ctx.Err() != nil:
		return 0, true, errors.Trace(ctx.Err()) // it may have been taken
	case err != nil || a.Take == nil || !*a.Take:
		return 0, false, nil
	}
	taken()
	_ = conn.SetDeadline(time.Time{})
	a = answer{}
	err = in.Decode(&a)
	switch {
	case ctx.Err() != nil:
		return 0, true, errors.Trace(ctx.Err())
	case err != nil || a.Exit == nil:
		return 0, true, errors.Trace(ErrEnded)
	}
	return *a.Exit, true, nil
}

// address is where the socket of a unit's directory is: there, or where a link
// leads to because the path was too long for a socket.
func address(dir string) (string, error) {
	path := filepath.Join(dir, SocketName)
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Type() == os.ModeSymlink {
		path, err = os.Readlink(path)
	}
	return path, err
}

// Listener is where a person waits for the hooks of a unit.
type Listener struct {
	*net.UnixListener
	place string // in the unit's directory
	temp  string // where the socket is, if not there
}

// Listen waits for the hooks of the unit that has a directory. The error is
// AlreadyExists where somebody else does.
func Listen(dir string) (*Listener, error) {
	if path, err := address(dir); err == nil {
		if conn, err := net.DialTimeout("unix", path, patience); err == nil {
			conn.Close()
			return nil, errors.AlreadyExistsf("a debug session of this unit")
		}
	}
	l := &Listener{place: filepath.Join(dir, SocketName)}
	path := l.place + ".new"
	if len(path) > maxPath {
		var err error
		if l.temp, err = os.MkdirTemp("", "unitd-"); err != nil {
			return nil, errors.Trace(err)
		}
		path = filepath.Join(l.temp, SocketName)
	}
	if err := l.listen(dir, path); err != nil {
		l.Close()
		return nil, errors.Annotate(err, "cannot wait for hooks")
	}
	return l, nil
}

func (l *Listener) listen(dir, path string) (err error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	if l.UnixListener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	giveToOwner(dir, path)
	if l.temp == "" {
		return os.Rename(path, l.place)
	}
	giveToOwner(dir, l.temp)
	if err := os.Remove(l.place); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(path, l.place)
}

// giveToOwner gives a file to whom the unit's directory belongs: the agent,
// which isn't root where root debugs.
func giveToOwner(dir, path string) {
	info, err := os.Stat(dir)
	if err != nil || os.Geteuid() != 0 {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = os.Lchown(path, int(st.Uid), int(st.Gid)) // then the agent finds nobody
	}
}

// Close ends the waiting: the agent runs its hooks itself again.
func (l *Listener) Close() error {
	var err error
	if l.UnixListener != nil {
		err = l.UnixListener.Close()
		_ = os.Remove(l.place)
	}
	if l.temp != "" {
		_ = os.RemoveAll(l.temp)
	}
	return errors.Trace(err)
}

// Session is a run that the agent has offered. It has to be answered by Refuse,
// or by Take and then End.
type Session struct {
	Offer
	conn net.Conn
	// Gone is closed, once the run was taken, when the agent wants no answer any
	// more: it has ended, or the unit has gone.
	Gone chan struct{}
}

// Next waits for the next run that is offered. The error is net.ErrClosed once
// the listener was closed.
func (l *Listener) Next() (*Session, error) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil, errors.Trace(err)
		}
		s := &Session{conn: conn, Gone: make(chan struct{})}
		_ = conn.SetDeadline(time.Now().Add(patience))
		if err := json.NewDecoder(conn).Decode(&s.Offer); err != nil {
			conn.Close() // somebody has looked whether anybody listens
			continue
		}
		return s, nil
	}
}

// Refuse leaves the run to the agent.
func (s *Session) Refuse() {
	take := false
	_ = json.NewEncoder(s.conn).Encode(answer{Take: &take})
	s.conn.Close()
}

// Take takes the run. It is false where the agent has gone.
func (s *Session) Take() bool {
	take := true
	if err := json.NewEncoder(s.conn).Encode(answer{Take: &take}); err != nil {
		s.conn.Close()
		return false
	}
	_ = s.conn.SetDeadline(time.Time{})
	go func() {
		defer close(s.Gone)
		// The agent says no more than what may be left of the offer's line: then
		// comes its end, or ours.
		_, _ = io.Copy(io.Discard, s.conn)
	}()
	return true
}

// End says how the run has ended.
func (s *Session) End(exit int) {
	_ = json.NewEncoder(s.conn).Encode(answer{Exit: &exit})
	s.Drop()
}

// Drop ends a run that was taken without a word: it has failed.
func (s *Session) Drop() {
	s.conn.Close()
	<-s.Gone
}
