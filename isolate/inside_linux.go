package isolate

import (
	"fmt"
	"net"
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
	o := opening{Path: path, Flag: flag, Perm: perm}
	if c.record.IDs.Many() && flag&unix.O_PATH == 0 {
		return c.demandFile(o)
	}
	root, err := c.root()
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(root)
	if c.record.Mapped.Many() {
		return c.mapped(o).in(root)
	}
	return o.open(root)
}

// mapped has what is to be opened belong to who is meant inside, where root has given the
// cell its ids.
func (c *Cell) mapped(o opening) opening {
	o.Root = o.As.UID == 0
	o.As.UID, o.As.GID = c.record.Mapped.OnHost(o.As.UID, o.As.GID)
	groups := make([]int, 0, len(o.As.Groups))
	for _, g := range o.As.Groups {
		_, g = c.record.Mapped.OnHost(0, g)
		groups = append(groups, g)
	}
	o.As.Groups = groups
	return o
}

// root opens the cell's root, for paths that begin there.
func (c *Cell) root() (int, error) {
	pid := c.process()
	if pid < 0 {
		return -1, unix.ESRCH
	}
	return unix.Open("/proc/"+strconv.Itoa(pid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// open is the file, with the rights of this thread.
func (o opening) open(root int) (*os.File, error) {
	flags := o.Flag | unix.O_CLOEXEC
	if flags&unix.O_PATH == 0 {
		flags |= unix.O_NOCTTY // a terminal isn't to become the agent's
	}
	how := &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if o.Flag&os.O_CREATE != 0 {
		how.Mode = uint64(o.Perm.Perm())
	}
	fd, err := unix.Openat2(root, o.Path, how)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: o.Path, Err: err}
	}
	if ofKernel(fd) {
		unix.Close(fd)
		return nil, &os.PathError{Op: "open", Path: o.Path, Err: unix.EPERM}
	}
	return os.NewFile(uintptr(fd), o.Path), nil
}

// ofKernel says whether a file is one by which the kernel is asked or told something: this
// process may more there than whoever has named the file.
func ofKernel(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return true
	}
	switch int64(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
		unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC, unix.BINFMTFS_MAGIC, unix.EFIVARFS_MAGIC, unix.NSFS_MAGIC:
		return true
	}
	return false
}

// mkdir makes it a directory.
func (o opening) mkdir(root int) error {
	dir, err := opening{Path: filepath.Dir(o.Path), Flag: unix.O_PATH | unix.O_DIRECTORY}.open(root)
	if err != nil {
		return errors.Trace(err)
	}
	defer dir.Close()
	if err := unix.Mkdirat(int(dir.Fd()), filepath.Base(o.Path), uint32(o.Perm.Perm())); err != nil {
		return &os.PathError{Op: "mkdir", Path: o.Path, Err: err}
	}
	return nil
}

// demandFile has it opened, or made, by who is root of the cell's ids.
func (c *Cell) demandFile(o opening) (*os.File, error) {
	root, err := c.root()
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: o.Path, Err: err}
	}
	defer unix.Close(root)
	return c.cells.demand(demand{Open: &o}, root)
}

// ToolsFor has the directory of a unit's hook tools in the cell, and is that
// directory on the host, and inside. Who is outside of hooks finds the tools of
// the cell's first unit on the PATH.
func (c *Cell) ToolsFor(unit string) (host, inside string, err error) {
	tools := c.tools()
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
	dir := filepath.Join(c.tools(), "machine-"+machine)
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

// Connect connects to a socket of the cell's, a path as its programs see it.
func (c *Cell) Connect(path string) (*net.UnixConn, error) {
	f, err := c.OpenFile(path, unix.O_PATH, 0)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: inProc(f), Net: "unix"})
	return conn, errors.Trace(err)
}
