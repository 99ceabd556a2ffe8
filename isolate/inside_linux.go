package isolate

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// OpenFile is os.OpenFile for a path as the cell's programs see it.
func (c *Cell) OpenFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	fail := func(err error) (*os.File, error) { return nil, &os.PathError{Op: "open", Path: path, Err: err} }
	pid := c.process()
	if pid < 0 {
		return fail(unix.ESRCH)
	}
	root, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(root)
	how := &unix.OpenHow{Flags: uint64(flag | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if flag&os.O_CREATE != 0 {
		how.Mode = uint64(perm.Perm())
	}
	fd, err := unix.Openat2(root, path, how)
	if err != nil {
		return fail(err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// ToolsFor has the directory of a unit's hook tools in the cell, and is that
// directory on the host, and inside. Who is outside of hooks finds the tools of
// the cell's first unit on the PATH.
func (c *Cell) ToolsFor(unit string) (host, inside string, err error) {
	tools := filepath.Join(c.Juju(), "tools")
	host = filepath.Join(tools, unit)
	if err := os.MkdirAll(host, 0o755); err != nil {
		return "", "", errors.Trace(err)
	}
	first := filepath.Base(c.dir)
	links := map[string]string{"run.socket": "../agents/" + first + "/agent.socket"}
	for _, name := range []string{"juju-exec", "juju-run"} {
		links[name] = first + "/" + name
	}
	for name, to := range links {
		err := os.Symlink(to, filepath.Join(tools, name))
		if err != nil && !os.IsExist(err) {
			return "", "", errors.Trace(err)
		}
	}
	return host, filepath.Join(Juju, "tools", unit), nil
}
