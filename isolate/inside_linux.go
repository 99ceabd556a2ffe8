package isolate

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// OpenFile is os.OpenFile for a path as the cell's programs see it, with all
// rights; see OpenAsPerson.
func (c *Cell) OpenFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	return c.openWith(path, flag, perm, func() error { return nil })
}

// openWith is OpenFile with the rights that become gives this thread once it knows
// the cell's root.
func (c *Cell) openWith(path string, flag int, perm os.FileMode, become func() error) (*os.File, error) {
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
	if err := become(); err != nil {
		return fail(err)
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
	if err := makeDir(host, 0o755); err != nil {
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

// Jujud has the original's program inside, where charms look for the version of
// the machine of that id; it says nothing else. version is the agent's, without
// the system. charm-helpers asks the first jujud in
// /var/lib/juju/tools/machine-*.
func (c *Cell) Jujud(machine, version string) error {
	dir := filepath.Join(c.Juju(), "tools", "machine-"+machine)
	if err := makeDir(dir, 0o755); err != nil {
		return errors.Trace(err)
	}
	text := fmt.Sprintf("#!/bin/sh\ncase $1 in version | --version) echo %s-%s-%s ;; *) echo 'ERROR this jujud only tells its version' >&2; exit 2 ;; esac\n",
		version, "ubuntu", runtime.GOARCH)
	path := filepath.Join(dir, "jujud")
	if b, err := os.ReadFile(path); err == nil && string(b) == text {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return errors.Trace(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Chmod(path, 0o755))
}
