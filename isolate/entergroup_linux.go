package isolate

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/hooks/runner"
)

// groupsDir has, in the cgroup of a machine with systemd, those of the programs that are
// run in it from outside. systemd leaves it alone, as no unit has that name, and can take
// processes from there, as it is below its own: systemd-run --scope, and sessions, do.
const groupsDir = "unitd"

// Groups is the directory of cgroups of programs in the cell (runner.Cmd.Within); empty:
// they stay in those that they are started in.
func (c *Cell) Groups() string {
	if !c.record.System || c.record.Group == "" {
		return ""
	}
	return filepath.Join(c.record.Group, groupsDir)
}

// entryGroup is the cgroup that a program is to be in.
type entryGroup struct {
	// procs is its open list of processes; nil: the program stays in this process's.
	procs *os.File
	// own is the directory that was made for it; empty: others are in it too.
	own string
}

// leave closes the list, and removes the group unless somebody is in it.
func (g entryGroup) leave() {
	if g.procs == nil {
		return
	}
	g.procs.Close()
	if g.own != "" {
		_ = os.Remove(g.own)
	}
}

// groupFor is the cgroup of a program with that environment: of a machine with systemd, one
// of its own there; else, for one that has no cgroup of its own, as a hook has, that in
// which the cell's programs are.
func (c *Cell) groupFor(env []string) entryGroup {
	if within := c.Groups(); within != "" {
		if g := makeEntryGroup(within, env); g.procs != nil {
			return g
		}
	}
	if own, ok := runner.OwnCgroup(); !ok || strings.Contains(own, "/unitd-") {
		return entryGroup{}
	}
	dir, ok := runner.CgroupOf(c.record.Pid)
	if !ok {
		return entryGroup{}
	}
	return entryGroup{procs: openProcs(dir)}
}

// makeEntryGroup makes one that is the program's alone.
func makeEntryGroup(within string, env []string) entryGroup {
	g := entryGroup{own: filepath.Join(within, "session-"+strconv.Itoa(os.Getpid()))}
	for _, v := range env {
		if strings.HasPrefix(v, runner.MarkVariable+"=") {
			g.own = runner.Within(within, v)
		}
	}
	for range 3 { // somebody sweeps those in which nobody is
		_ = os.Mkdir(within, 0o755)
		if !ownGroup(within) {
			return g
		}
		_ = os.Mkdir(g.own, 0o755)
		if g.procs = openProcs(g.own); g.procs != nil {
			return g
		}
	}
	return g
}

// ownGroup says whether a cgroup is this user's, and not one that root inside has put in its
// place, who could freeze whoever enters.
func ownGroup(dir string) bool {
	var st unix.Stat_t
	return unix.Lstat(dir, &st) == nil && int(st.Uid) == os.Geteuid()
}

// openProcs opens the list of processes of a cgroup; nil: there is none.
func openProcs(dir string) *os.File {
	f, err := os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	return f
}
