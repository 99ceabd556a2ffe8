package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/juju/errors"
)

// maxSocketPath is how long the path of a socket can be everywhere: Darwin's
// sun_path has 104 bytes, the last of them zero.
const maxSocketPath = 103

// socket is a listener at a path in the file system.
type socket struct {
	*net.UnixListener
	path string
	dir  string      // of our own, to be removed; empty if none
	info os.FileInfo // of the socket's file
}

// openSocket makes the socket beside its place and moves it there, so that
// nobody finds one that hasn't its mode yet, and a caller finds the old or the
// new one.
func openSocket(path string, near bool, mode os.FileMode) (_ *socket, err error) {
	const beside = ".new"
	s := &socket{path: path}
	if !near && len(path+beside) > maxSocketPath {
		if s.dir, err = shortDir(path); err != nil {
			return nil, errors.Trace(err)
		}
		s.path = filepath.Join(s.dir, "agent.socket")
	}
	defer func() {
		if err != nil {
			err = errors.Trace(err)
			s.cleanUp()
		}
	}()
	if info, err := os.Lstat(s.path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, errors.AlreadyExistsf("%s, which is no socket,", s.path)
	}
	temporary := s.path + beside
	if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if s.UnixListener, err = bindSocket(temporary, near); err != nil {
		return nil, err
	}
	s.SetUnlinkOnClose(false) // it would look at the temporary place
	if err := os.Chmod(temporary, mode); err != nil {
		return nil, err
	}
	if s.info, err = os.Lstat(temporary); err != nil {
		return nil, err
	}
	return s, os.Rename(temporary, s.path)
}

// bindSocket makes the socket's file. One that is near is named from its
// directory, which the kernel knows by a file of this process.
func bindSocket(path string, near bool) (*net.UnixListener, error) {
	name := path
	if near {
		dir, err := os.Open(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		name = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	}
	return net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
}

// shortDir makes a directory for the socket that should be at path, with a
// path that leaves room for a socket's; a long TMPDIR is no better than what
// was too long already. It is the same each time, so that killed agents don't
// leave one after the other; what isn't ours alone at that place isn't used.
func shortDir(path string) (string, error) {
	const below = "/unitd-01234567890123456789/agent.socket.new"
	base := os.TempDir()
	if len(base+below) > maxSocketPath {
		base = "/tmp"
	}
	sum := sha256.Sum256([]byte(path))
	dir := filepath.Join(base, "unitd-"+hex.EncodeToString(sum[:10]))
	err := os.Mkdir(dir, 0o700)
	if err == nil || os.IsExist(err) && ours(dir) {
		return dir, nil
	}
	dir, err = os.MkdirTemp(base, "unitd-")
	return dir, errors.Trace(err)
}

// ours says whether dir is a directory of this user, closed to all others.
func ours(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// inPlace says whether the socket is open and at its path.
func (s *socket) inPlace() bool {
	now, err := os.Lstat(s.path)
	return err == nil && s.info != nil && os.SameFile(now, s.info)
}

// give has the socket's file belong to a user, by that function.
func (s *socket) give(uid int, by func(path string, uid int) error) error {
	if !s.inPlace() {
		return nil // it is given when it is made again
	}
	return errors.Trace(by(s.path, uid))
}

// Close stops listening and removes the socket, unless somebody else's has
// taken its place. Once it is closed it does nothing.
func (s *socket) Close() error {
	if s.info == nil {
		return nil
	}
	err := s.UnixListener.Close()
	s.cleanUp()
	s.info = nil
	return errors.Trace(err)
}

func (s *socket) cleanUp() {
	if s.UnixListener != nil {
		_ = s.UnixListener.Close()
	}
	if s.inPlace() {
		_ = os.Remove(s.path)
	}
	if s.dir != "" {
		_ = os.Remove(s.dir) // unless somebody else's socket is in it by now
	}
}
