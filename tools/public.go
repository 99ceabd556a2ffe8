package tools

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/juju/errors"
)

// ListenPublic makes a socket that everybody on this host can connect to: who listens
// asks the kernel who that is. What a killed process has left there gives way. Errors:
// AlreadyExists for anything else, and where somebody listens; NotValid for a path that is
// too long for a socket, or where others could put a socket of their own.
func ListenPublic(path string) (*Private, error) {
	if len(path+".new") > maxSocketPath {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("%s is too long for the path of a socket", path))
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, errors.Trace(err)
	}
	for above := dir; ; above = filepath.Dir(above) {
		if err := oursAlone(above, above == dir); err != nil {
			return nil, errors.Trace(err)
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.NewAlreadyExists(nil, "somebody listens at "+path+", or something else is there")
	}
	s, err := openSocket(path, false, 0o666)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return &Private{Listener: s.UnixListener, path: path, socket: s}, nil
}

// oursAlone is NotValid for a directory in which somebody else than root or this user can put
// things or, unless last, take them away.
func oursAlone(dir string, last bool) error {
	info, err := os.Stat(dir)
	if err != nil {
		return errors.Trace(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	foreign := ok && st.Uid != 0 && int(st.Uid) != os.Geteuid()
	writable := info.Mode().Perm()&0o022 != 0 && (last || info.Mode()&os.ModeSticky == 0)
	if foreign || writable {
		return errors.NewNotValid(nil, fmt.Sprintf("others can write to %s, and could put a socket of their own in the place of this one: choose another directory", dir))
	}
	return nil
}
