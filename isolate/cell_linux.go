package isolate

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/durable"
)

// process tells the first process of a cell from all others, also from a later one
// that has its number; Pid is 0 where none was started.
type process struct {
	Boot  string `json:"boot,omitempty"`
	Pid   int    `json:"pid,omitempty"`
	Began string `json:"began,omitempty"`
}

// identify is the process with that number, which runs.
func identify(pid int) process { return process{Boot: bootID(), Pid: pid, Began: began(pid)} }

// runs says whether it is there.
func (p process) runs() bool {
	return p.Pid != 0 && p.Boot == bootID() && p.Began != "" && began(p.Pid) == p.Began
}

// recordName is the record of a cell, in its directory.
const recordName = "cell.json"

// record says what there is of a cell. It is written before anything is made.
type record struct {
	ID string `json:"id"`
	// Layout is that of the version that has started the init; see layout.
	Layout int `json:"layout,omitempty"`
	process
	// Ready: programs can be run in it. Furnished: it was ready once.
	Ready     bool `json:"ready,omitempty"`
	Furnished bool `json:"furnished,omitempty"`
	// User: it is in a user name space, with those IDs.
	User bool    `json:"user,omitempty"`
	IDs  IDs     `json:"ids,omitzero"`
	Net  Network `json:"net"`
	// Mapped: root has given it these ids, anew at each start. Its files have on the host
	// the numbers that they have inside.
	Mapped IDs `json:"mapped,omitzero"`
	// Boots counts how often it was started. Paused: it was ended so that the next
	// start doesn't count.
	Boots  int  `json:"boots,omitempty"`
	Paused bool `json:"paused,omitempty"`
	// Lost is what it lacks, and Without which directories of the host.
	Lost    []string `json:"lost,omitempty"`
	Without []string `json:"without,omitempty"`
	// As is whom programs run as; see Cell.RunAs.
	As Person `json:"as,omitzero"`
	// First: it is a workload container, of which Pid is the first program. With is
	// the cell whose network it has, and Group its cgroup.
	First bool     `json:"first,omitempty"`
	With  *process `json:"with,omitempty"`
	Group string   `json:"group,omitempty"`
	// System: its first process is systemd, in the cgroup Group.
	System bool `json:"system,omitempty"`
	// Unkept are its limits that nothing keeps.
	Unkept []Unkept `json:"unkept,omitempty"`
}

// single says whether there is one user inside.
func (r record) single() bool { return r.User && !r.IDs.Many() && !r.Mapped.Many() }

// Cell is a unit's machine on this host.
type Cell struct {
	cells  *Cells
	key    string
	dir    string
	record record
	first  *child // the first program, where this process has started it
}

func (c *Cell) recordPath() string { return filepath.Join(c.dir, recordName) }

// Network is the cell's; zero: it has the host's.
func (c *Cell) Network() Network { return c.record.Net }

// Boots says how often the cell was started; another number is another boot of
// the unit's machine.
func (c *Cell) Boots() int { return c.record.Boots }

// Lost says in a line what the cell lacks; empty: nothing.
func (c *Cell) Lost() string {
	lost := slices.Clone(c.record.Lost)
	for _, u := range c.record.Unkept {
		lost = append(lost, "no limit to "+u.Limit+": "+u.Why)
	}
	if len(c.record.Without) > 0 {
		lost = append(lost, "without "+strings.Join(c.record.Without, ", "))
	}
	return strings.Join(lost, "; ")
}

// Unkept are the limits of a workload container that nothing keeps.
func (c *Cell) Unkept() []Unkept { return c.record.Unkept }

// Dir is the cell's directory on the host, by which At finds it.
func (c *Cell) Dir() string { return c.dir }

// Tmp is the cell's /tmp as the host sees it.
func (c *Cell) Tmp() string { return filepath.Join(c.dir, tmpDir) }

// tools is the directory of the hook tools as the host sees it.
func (c *Cell) tools() string { return filepath.Join(c.dir, jujuDir, "tools") }

// Command is what to run on the host to have a program run in the cell, in a
// directory of the cell, as whom RunAs has said. Its environment, files and end are
// those of the program.
func (c *Cell) Command(dir, path string, args ...string) (program string, all []string) {
	return c.CommandAs(c.record.As, dir, path, args...)
}

// CommandAs is Command as a person, who has to be one that there is in the cell.
func (c *Cell) CommandAs(p Person, dir, path string, args ...string) (program string, all []string) {
	return c.cells.Program, append([]string{EnterCommand, c.dir, p.String(), dir, path}, args...)
}

// alive says whether the first process is there.
func (c *Cell) alive() bool { return !c.ending() }

// patience is how long an init, and the kernel, may take for what takes them no
// time.
const patience = 30 * time.Second

// process is the init's process id; negative: it has ended.
func (c *Cell) process() int {
	if !c.record.runs() {
		return -1
	}
	return c.record.Pid
}

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it all boots are one
	return strings.TrimSpace(string(b))
}

// began is when a process was started, by the kernel's count; empty: there is none.
func began(pid int) string {
	f := statFields(pid)
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return ""
	}
	return f[19]
}

// statFields is what the kernel says of a process after its name, from the state on.
func statFields(pid int) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// stop ends the init, and with it all that runs in the cell.
func (c *Cell) stop() error {
	was := c.record
	defer func() { c.record.Pid, c.record.Ready = 0, false }()
	if was.System {
		if err := c.haltSystem(); err != nil {
			return errors.Trace(err)
		}
	}
	if c.process() >= 0 {
		if err := c.cells.disk().Do(durable.Step{Do: stepEnd, Path: c.dir}, c.kill); err != nil {
			return errors.Trace(err)
		}
	}
	if was.System {
		if err := c.endGroup(); err != nil {
			return errors.Trace(err)
		}
	}
	if was.With == nil { // or they are the unit's machine's
		dropNumbers(was.Mapped, was.process)
	}
	return nil
}

// kill kills the first process, and waits until all that runs in the cell has
// ended.
func (c *Cell) kill() error {
	pid := c.process()
	if pid < 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil // it has ended just now
	}
	defer unix.Close(fd)
	if c.process() != pid {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return errors.Annotate(err, "cannot end a unit's cell")
	}
	over := time.Now().Add(patience)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(time.Until(over), 0)/time.Millisecond))
		switch {
		case err == unix.EINTR:
		case err != nil || n > 0:
			return errors.Trace(err)
		default:
			return errors.Errorf("process %d of a unit's cell doesn't end", pid)
		}
	}
}

func (c *Cell) save() error {
	return errors.Trace(writeRecord(c.cells.disk(), c.recordPath(), c.record))
}
