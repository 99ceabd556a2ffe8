package isolate

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// Mkdir is os.Mkdir for a path as the cell's programs see it.
func (c *Cell) Mkdir(path string, perm os.FileMode) error {
	o := opening{Path: path, Perm: perm, Mkdir: true}
	if c.record.IDs.Many() {
		_, err := c.demandFile(o)
		return err
	}
	root, err := c.root()
	if err != nil {
		return &os.PathError{Op: "mkdir", Path: path, Err: err}
	}
	defer unix.Close(root)
	if c.record.Mapped.Many() {
		o = c.mapped(o)
	}
	_, err = o.in(root)
	return err
}

// Owner is whom the first process of the cell runs as, or whom RunAs has said, by the
// cell's own numbers; the host's where there is one user inside. The error is that
// it has ended.
func (c *Cell) Owner() (uid, gid int, err error) {
	if p := c.record.As; p.UID != 0 {
		return p.UID, p.GID, nil
	}
	f, err := os.Open("/proc/" + strconv.Itoa(c.process()) + "/status")
	if err != nil {
		return 0, 0, errors.Annotate(err, "the cell has ended")
	}
	defer f.Close()
	of := map[string]*int{"Uid:": &uid, "Gid:": &gid}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || of[fields[0]] == nil {
			continue
		}
		if *of[fields[0]], err = strconv.Atoi(fields[2]); err != nil { // the effective one
			return 0, 0, errors.Trace(err)
		}
	}
	uid, gid = c.record.IDs.Inside(uid, gid)
	uid, gid = c.record.Mapped.Inside(uid, gid)
	return uid, gid, nil
}

// WorkingDir is where the first process of the cell is, as its programs see it.
func (c *Cell) WorkingDir() string {
	dir, err := os.Readlink("/proc/" + strconv.Itoa(c.process()) + "/cwd")
	if err != nil || !filepath.IsAbs(dir) {
		return "/"
	}
	return dir
}
