package isolate

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks/runner"
)

// lostLimits is what a workload container lacks whose limits nothing keeps.
const lostLimits = "no limits of memory and processors"

// group notes in the record which cgroup the container is to have, if any: below
// this process's own, or, where that can't have limits and they are wanted, below
// the topmost. What it returns is the directory above it.
func (c *Cell) group(l Limits) (above string) {
	c.record.Group = ""
	own, ok := runner.OwnCgroup()
	if !ok {
		if l != (Limits{}) {
			c.record.Lost = append(c.record.Lost, lostLimits)
		}
		return ""
	}
	name := hashed("unitd-containers-", c.cells.Dir, 16)
	for _, dir := range []string{own, topGroup(own)} {
		above = filepath.Join(dir, name)
		if limitable(dir, above, l) {
			c.record.Group = filepath.Join(above, hashed("", c.key, 16))
			return above
		}
	}
	above = filepath.Join(own, name)
	c.record.Group = filepath.Join(above, hashed("", c.key, 16))
	c.record.Lost = append(c.record.Lost, lostLimits)
	return above
}

// topGroup is the topmost cgroup that is seen from here.
func topGroup(dir string) string {
	for {
		above := filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(above, "cgroup.procs")); err != nil || above == dir {
			return dir
		}
		dir = above
	}
}

// limitable has the controllers on that limits need, in a cgroup and the one that
// is to be below it, and says whether they are.
func limitable(dir, above string, l Limits) bool {
	if l == (Limits{}) {
		return true
	}
	for _, d := range []string{dir, above} {
		for _, name := range l.controllers() {
			if !controls(d, name) {
				return false
			}
		}
		if d == dir {
			if err := os.Mkdir(above, 0o755); err != nil && !os.IsExist(err) {
				return false
			}
		}
	}
	return true
}

// controls has a controller on for the cgroups below one.
func controls(dir, name string) bool {
	path := filepath.Join(dir, "cgroup.subtree_control")
	b, err := os.ReadFile(path)
	if err == nil && slices.Contains(strings.Fields(string(b)), name) {
		return true
	}
	return os.WriteFile(path, []byte("+"+name), 0) == nil
}

func (l Limits) controllers() (names []string) {
	if l.MemoryBytes > 0 {
		names = append(names, "memory")
	}
	if l.CPUMillis > 0 {
		names = append(names, "cpu")
	}
	return names
}

// settings are the cgroup's files that limits are written to.
func (l Limits) settings() map[string]string {
	const period = 100_000 // microseconds
	all := map[string]string{}
	if l.MemoryBytes > 0 {
		all["memory.max"] = strconv.FormatInt(l.MemoryBytes, 10)
	}
	if l.CPUMillis > 0 {
		// The kernel takes no less than a millisecond.
		all["cpu.max"] = strconv.Itoa(max(l.CPUMillis*period/1000, 1000)) + " " + strconv.Itoa(period)
	}
	return all
}

// makeGroup makes the cgroup of the record. Not to have one is no error: what
// runs in the container ends with its first process.
func (c *Cell) makeGroup(above string, l Limits) error {
	if above == "" {
		return nil
	}
	disk := c.cells.disk()
	if err := disk.MkdirAll(above, 0o755); err != nil {
		return c.noGroup(l)
	}
	if err := disk.MkdirAll(c.record.Group, 0o755); err != nil {
		return c.noGroup(l)
	}
	for name, value := range l.settings() {
		if err := os.WriteFile(filepath.Join(c.record.Group, name), []byte(value), 0o644); err != nil {
			if !slices.Contains(c.record.Lost, lostLimits) {
				c.record.Lost = append(c.record.Lost, lostLimits)
			}
			return nil
		}
	}
	return nil
}

// noGroup is that there can be none.
func (c *Cell) noGroup(l Limits) error {
	c.record.Group = ""
	if l != (Limits{}) && !slices.Contains(c.record.Lost, lostLimits) {
		c.record.Lost = append(c.record.Lost, lostLimits)
	}
	return nil
}

// endGroup ends whoever is in the container's cgroup, and removes it.
func (c *Cell) endGroup() error {
	group := c.record.Group
	if group == "" {
		return nil
	}
	defer os.Remove(filepath.Dir(group)) // unless others have theirs there
	if _, err := os.Stat(group); os.IsNotExist(err) {
		return nil
	}
	_ = os.WriteFile(filepath.Join(group, "cgroup.kill"), []byte("1"), 0) // kernels before 5.14 have none
	if err := waitEmpty(group); err != nil {
		return errors.Trace(err)
	}
	err := c.cells.disk().Do(durable.Step{Do: durable.Remove, Path: group}, func() error { return removeGroups(group) })
	return errors.Annotate(err, "cannot remove the cgroup of a workload container")
}

// removeGroups removes a cgroup and those in it.
func removeGroups(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			_ = removeGroups(filepath.Join(dir, e.Name()))
		}
	}
	if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	return nil
}

// waitEmpty waits until nobody is in a cgroup, nor below it.
func waitEmpty(group string) error {
	f, err := os.Open(filepath.Join(group, "cgroup.events"))
	if err != nil {
		return nil // it has gone
	}
	defer f.Close()
	for over := time.Now().Add(patience); ; {
		b := make([]byte, 256)
		n, err := f.ReadAt(b, 0)
		if n == 0 && err != nil || !strings.Contains(string(b[:n]), "populated 1") {
			return nil
		}
		left := time.Until(over)
		if left <= 0 {
			return errors.Errorf("processes in %s don't end", group)
		}
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}}, int(left/time.Millisecond)+1)
		if err != nil && err != unix.EINTR {
			return errors.Trace(err)
		}
	}
}
