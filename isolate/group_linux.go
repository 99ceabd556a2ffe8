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

// errNoGroups is why limits aren't kept on a host that has none.
var errNoGroups = errors.New("there is no cgroup of version 2 that the agent is in")

// group notes in the record which cgroup the container is to have, if any: below
// this process's own, or, where that can't have limits and they are wanted, below
// the topmost. What it returns is the directory above it.
func (c *Cell) group(l Limits) (above string) {
	c.record.Group, c.record.Unkept = "", nil
	own, ok := runner.OwnCgroup()
	if !ok {
		c.unkept(l.all(), errNoGroups)
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
	return above // makeGroup finds out which are kept
}

// unkept notes that nothing keeps limits.
func (c *Cell) unkept(all []limit, why error) {
	for _, one := range all {
		c.record.Unkept = append(c.record.Unkept, Unkept{Limit: one.text, Why: why.Error()})
	}
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
	for _, one := range l.all() {
		if err := controlled(dir, above, one.controller); err != nil {
			return false
		}
	}
	return true
}

// controlled has a controller on in a cgroup, and in the one that is to be below it.
func controlled(dir, above, controller string) error {
	if err := control(dir, controller); err != nil {
		return errors.Trace(err)
	}
	if err := os.Mkdir(above, 0o755); err != nil && !os.IsExist(err) {
		return errors.Errorf("cannot make a cgroup in %s: %v", dir, reason(err))
	}
	return errors.Trace(control(above, controller))
}

// control has a controller on for the cgroups below one.
func control(dir, name string) error {
	if has(filepath.Join(dir, "cgroup.subtree_control"), name) {
		return nil
	}
	if !has(filepath.Join(dir, "cgroup.controllers"), name) {
		return errors.Errorf("cgroup %s has no controller %q", dir, name)
	}
	err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+name), 0)
	if err != nil {
		return errors.Errorf("cannot have controller %q on in cgroup %s: %v", name, dir, reason(err))
	}
	return nil
}

// has says whether a file has a word.
func has(path, word string) bool {
	b, err := os.ReadFile(path)
	return err == nil && slices.Contains(strings.Fields(string(b)), word)
}

// reason is an error of a file without the file's name.
func reason(err error) error {
	var of *os.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// limit is one of Limits: which controller keeps it, what is written to which file of
// the cgroup for that, and what people call it.
type limit struct{ controller, file, value, text string }

func (l Limits) all() (all []limit) {
	const period = 100_000 // microseconds
	if l.MemoryBytes > 0 {
		bytes := strconv.FormatInt(l.MemoryBytes, 10)
		all = append(all, limit{"memory", "memory.max", bytes, bytes + " bytes of memory"})
	}
	if l.CPUMillis > 0 {
		// The kernel takes no less than a millisecond.
		quota := strconv.Itoa(max(l.CPUMillis*period/1000, 1000)) + " " + strconv.Itoa(period)
		all = append(all, limit{"cpu", "cpu.max", quota, strconv.FormatFloat(float64(l.CPUMillis)/1000, 'f', -1, 64) + " processors"})
	}
	return all
}

// makeGroup makes the cgroup of the record, and notes which limits it doesn't keep. Not
// to have one is no error: what runs in the container ends with its first process.
func (c *Cell) makeGroup(above string, l Limits) {
	if above == "" {
		return
	}
	disk := c.cells.disk()
	for _, dir := range []string{above, c.record.Group} {
		if err := disk.MkdirAll(dir, 0o755); err != nil {
			c.record.Group = ""
			c.unkept(l.all(), errors.Errorf("cannot make cgroup %s: %v", dir, reason(err)))
			return
		}
	}
	for _, one := range l.all() {
		err := controlled(filepath.Dir(above), above, one.controller)
		if err == nil {
			err = os.WriteFile(filepath.Join(c.record.Group, one.file), []byte(one.value), 0o644)
		}
		if err != nil {
			c.unkept([]limit{one}, err)
		}
	}
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
