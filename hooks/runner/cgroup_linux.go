package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/unitd/unitd/mounts"
)

// Cgroups gives each program a control group of its own (version 2), below the
// one that this process is in. Whatever a program starts stays in it, whatever
// it does with sessions, parents and environments, so that no process is missed
// when the program has to stop. It needs the right to make control groups there:
// root has it in most places, others where the group was delegated to them, such
// as by "Delegate=yes" of a systemd service. Not to have it is nothing unusual,
// in a container or on a laptop. nil is valid, and gives none.
//
// A group goes with its program. One in which a daemon was left stays until
// that has ended. It is safe for use by many goroutines.
type Cgroups struct {
	dir string
	// held has the directory open and locked, which says that somebody has it.
	held *os.File
	mu   sync.Mutex
	// off: programs can't begin in them.
	off  bool
	made int
	// kept are the paths of groups that were left with somebody in them.
	kept map[string]bool
}

// OpenCgroups are the cgroups for the programs of one agent, of whose files dir
// is the directory; nil: there may be none. It removes what the agents before
// have left of them, so far as nobody is in it, and so what agents of other
// directories have left that were killed. Close it.
func OpenCgroups(dir string) *Cgroups {
	own, ok := ownCgroup("/proc/self/cgroup", "/proc/self/mountinfo")
	if !ok {
		return nil
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	c := &Cgroups{dir: filepath.Join(own, cgroupPrefix+digest(dir)), kept: map[string]bool{}}
	if c.held = holdDir(c.dir); c.held == nil {
		return nil
	}
	c.sweep()
	c.sweepOthers()
	return c
}

// cgroupPrefix is how the names of the directories begin that Cgroups have.
const cgroupPrefix = "unitd-"

// holdDir makes a directory and locks it, together with others that have it; nil:
// there may be none.
func holdDir(path string) *os.File {
	for {
		if err := os.Mkdir(path, 0o755); err != nil && !os.IsExist(err) {
			return nil
		}
		f, err := os.Open(path)
		if os.IsNotExist(err) {
			continue // somebody has swept it
		}
		if err != nil {
			return nil
		}
		// Who sweeps has it for a moment.
		for err = syscall.EINTR; err == syscall.EINTR; {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
		}
		if err != nil {
			f.Close()
			return nil
		}
		now, err := os.Stat(path)
		if mine, err2 := f.Stat(); err == nil && err2 == nil && os.SameFile(now, mine) {
			return f
		}
		f.Close()
	}
}

// sweepOthers removes the directories beside this one that nobody has any more, and
// nobody is in.
func (c *Cgroups) sweepOthers() {
	others, _ := filepath.Glob(filepath.Join(filepath.Dir(c.dir), cgroupPrefix+strings.Repeat("[0-9a-f]", len(digest("")))))
	for _, path := range others {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if path != c.dir && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			sweepDir(path)
			_ = os.Remove(path)
		}
		f.Close()
	}
}

// Close removes the groups that nobody is in.
func (c *Cgroups) Close() {
	if c == nil {
		return
	}
	c.sweep()
	_ = os.Remove(c.dir) // unless a daemon is in one of them
	c.held.Close()
}

// ownCgroup is the directory of the cgroup that this process is in, by what
// /proc says of it.
func ownCgroup(cgroup, mountinfo string) (dir string, ok bool) {
	b, err := os.ReadFile(cgroup)
	if err != nil {
		return "", false
	}
	path := ""
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path = rest
		}
	}
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/..") {
		return "", false // none, or out of sight from here
	}
	f, err := os.Open(mountinfo)
	if err != nil {
		return "", false
	}
	defer f.Close()
	all, err := mounts.Read(f)
	if err != nil {
		return "", false
	}
	for _, m := range all {
		if m.Kind != "cgroup2" {
			continue
		}
		below, err := filepath.Rel(m.Root, path)
		if err != nil || strings.HasPrefix(below, "..") {
			continue // something else is mounted here
		}
		return filepath.Join(m.At, below), true
	}
	return "", false
}

// digest is a short name of a fixed length.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// giveUp has no more groups made: this process may make them, and can't have
// programs begin in them.
func (c *Cgroups) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = true
}

// Within is the group that a program with that mark has below dir, which it makes by itself
// (Cmd.Within).
func Within(dir, mark string) string { return filepath.Join(dir, "run-"+digest(mark)) }

// SweepWithin removes the groups of Within in which nobody is. A program that is about to
// enter one makes it again.
func SweepWithin(dir string) { sweepDir(dir) }

// enter makes the group of the program with that mark, which may have one more within that
// directory; nil: it gets none.
func (c *Cgroups) enter(mark, within string) *cgroup {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off {
		return nil
	}
	c.made++
	name := strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(c.made)
	if mark != "" {
		name = digest(mark)
	}
	g := &cgroup{all: c, path: filepath.Join(c.dir, name)}
	if within != "" && mark != "" {
		g.within = Within(within, mark)
	}
	delete(c.kept, g.path) // the same program is run twice
	delete(c.kept, g.within)
	if err := os.Mkdir(g.path, 0o755); err != nil && !os.IsExist(err) {
		return nil
	}
	var err error
	if g.file, err = os.Open(g.path); err != nil {
		_ = os.Remove(g.path)
		return nil
	}
	return g
}

// former is the group of a program of a former agent; nil: there is none.
func (c *Cgroups) former(mark, within string) *cgroup {
	if c == nil {
		return nil
	}
	g := &cgroup{all: c, path: filepath.Join(c.dir, digest(mark))}
	if within != "" {
		g.within = Within(within, mark)
	}
	for _, path := range g.paths() {
		if _, err := os.Stat(path); err == nil {
			return g
		}
	}
	return nil
}

// sweep removes the groups in which nobody is, while none is in use.
func (c *Cgroups) sweep() { sweepDir(c.dir) }

func sweepDir(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeGroup(filepath.Join(dir, e.Name()))
		}
	}
}

// removeGroup removes a group and those that a program has made in it, so far as
// nobody is in them.
func removeGroup(path string) (removed bool) {
	if os.Remove(path) == nil {
		return true
	}
	dirs := groupsIn(path)
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = os.Remove(dirs[i])
	}
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// groupsIn are the group and all below it, those above first.
func groupsIn(path string) []string {
	var dirs []string
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, p)
		}
		return nil // what has gone meanwhile
	})
	return dirs
}

// cgroup is the group of one program. nil is valid: it has none.
type cgroup struct {
	all  *Cgroups
	path string
	// within is the one that it has moved to, or may have; empty: none.
	within string
	file   *os.File
}

// paths are those of both.
func (g *cgroup) paths() []string {
	if g.within == "" {
		return []string{g.path}
	}
	return []string{g.path, g.within}
}

// hold has a program begin in the group.
func (g *cgroup) hold(attr *syscall.SysProcAttr) {
	if g != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(g.file.Fd())
	}
}

// procs are the processes in it.
func (g *cgroup) procs() map[int]bool {
	if g == nil {
		return nil
	}
	in := map[int]bool{}
	var dirs []string
	for _, path := range g.paths() {
		dirs = append(dirs, groupsIn(path)...)
	}
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				in[pid] = true
			}
		}
	}
	return in
}

// kill ends all that are in it at once; kernels before 5.14 don't.
func (g *cgroup) kill() {
	if g == nil {
		return
	}
	for _, path := range g.paths() {
		_ = os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
	}
}

// leave removes the group, unless somebody lives in it.
func (g *cgroup) leave() {
	if g == nil {
		return
	}
	if g.file != nil {
		g.file.Close()
		g.file = nil
	}
	left := slices.DeleteFunc(g.paths(), removeGroup)
	if len(left) == 0 {
		return
	}
	// When one more is left, those before may be empty.
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	for path := range g.all.kept {
		if removeGroup(path) {
			delete(g.all.kept, path)
		}
	}
	for _, path := range left {
		g.all.kept[path] = true
	}
}

// OwnCgroup is the directory of the cgroup that this process is in; false: it is
// in none, or can't see it.
func OwnCgroup() (dir string, ok bool) { return ownCgroup("/proc/self/cgroup", "/proc/self/mountinfo") }

// CgroupOf is OwnCgroup for the process with that number.
func CgroupOf(pid int) (dir string, ok bool) {
	return ownCgroup("/proc/"+strconv.Itoa(pid)+"/cgroup", "/proc/self/mountinfo")
}
