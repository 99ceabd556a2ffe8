package runner

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tree is a program with all that it has started, directly or not.
type tree struct {
	// pid is the program, which leads a process group; 0: none.
	pid int
	// marks are variables that all processes of the tree have, or had before
	// they gave themselves another environment; none: it isn't found by that.
	marks []string
	// whole: whoever is in a process group with one of the tree is of it, too.
	whole bool
	// group is its cgroup; nil: it has none.
	group *cgroup
	// known are the processes of it that were seen, by when they began: whoever
	// of them loses its parent or its mark belongs to it all the same.
	known map[int]string
}

// process is a line of /proc.
type process struct {
	pid, parent, group int
	began              string
	zombie             bool
}

// find finds the tree's processes that are alive. A process that has left its
// cgroup and its process group, has no parent in the tree and had its
// environment cleared, all of that before anybody looked, isn't found: it can't
// be told from a daemon that a former program has left on purpose.
func (t *tree) find() []process {
	all := processes()
	in := map[int]process{}
	inGroup := t.group.procs()
	grouped := false
	for _, p := range all {
		byGroup := t.pid > 0 && (p.pid == t.pid || p.group == t.pid)
		grouped = grouped || byGroup
		if byGroup || t.known[p.pid] == p.began || inGroup[p.pid] || hasMarks(p.pid, t.marks) {
			in[p.pid] = p
		}
	}
	if !grouped {
		t.pid = 0 // the number may become another program's
	}
	for more := true; more; {
		more = false
		groups := t.groups(in)
		for _, p := range all {
			if _, ok := in[p.pid]; ok {
				continue
			}
			if _, ok := in[p.parent]; ok || groups[p.group] {
				in[p.pid], more = p, true
			}
		}
	}
	var alive []process
	if t.known == nil {
		t.known = map[int]string{}
	}
	for pid, p := range in {
		t.known[pid] = p.began
		if !p.zombie {
			alive = append(alive, p)
		}
	}
	// Parents come before their children, mostly: they are to end by the signal,
	// and not because a child has.
	slices.SortFunc(alive, func(a, b process) int { return cmp.Compare(a.pid, b.pid) })
	return alive
}

// groups are the process groups that are the tree's. This process's own isn't:
// programs have others.
func (t *tree) groups(in map[int]process) map[int]bool {
	groups := map[int]bool{}
	if t.whole {
		for _, p := range in {
			groups[p.group] = true
		}
		delete(groups, syscall.Getpgrp())
	}
	return groups
}

// processes are all but this one.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if p, ok := look(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// look reads what is known of a process; false: there is none.
func look(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The second field is a name in parentheses, and may have any in it.
	end := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[end+1:]))
	if end < 0 || len(f) < 20 {
		return process{}, false
	}
	p := process{pid: pid, began: f[19], zombie: f[0] == "Z" || f[0] == "X"}
	p.parent, _ = strconv.Atoi(f[1])
	p.group, _ = strconv.Atoi(f[2])
	return p, true
}

// hasMarks says whether the process was started with all of these variables.
func hasMarks(pid int, marks []string) bool {
	if len(marks) == 0 {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(b) == 0 {
		return false
	}
	have := strings.Split(string(b), "\x00")
	return !slices.ContainsFunc(marks, func(m string) bool { return !slices.Contains(have, m) })
}

// signal signals the process, unless its number is another one's by now.
func (p process) signal(s syscall.Signal) {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer handle.Release()
	if now, ok := look(p.pid); ok && now.began == p.began {
		_ = handle.Signal(s) // it may have ended, or be another user's
	}
}

// end ends the tree: TERM for each process, and KILL for those that are there
// after the grace, or for all if there is none. It returns how many couldn't be
// ended.
func (t *tree) end(grace time.Duration) (left int) {
	over := time.Now().Add(grace)
	told := map[int]bool{}
	for wait := time.Millisecond; time.Now().Before(over); wait = min(2*wait, 100*time.Millisecond) {
		alive := t.find()
		if len(alive) == 0 {
			return 0
		}
		for _, p := range alive {
			if !told[p.pid] {
				told[p.pid] = true
				p.signal(syscall.SIGTERM)
			}
		}
		time.Sleep(min(wait, time.Until(over)))
	}
	_, left = t.kill(context.Background(), killTime)
	return left
}

// killTime bounds how long kill takes.
const killTime = 5 * time.Second

// kill ends the tree by KILL and says how many processes it found, and how many
// of them couldn't be ended: one that waits for a disk that doesn't answer is
// waited for neither long nor after ctx has ended.
func (t *tree) kill(ctx context.Context, bound time.Duration) (found, left int) {
	return killAll(ctx, bound, t.find, func(p process) { p.signal(syscall.SIGKILL) }, t.group.kill)
}

func killAll(ctx context.Context, bound time.Duration, find func() []process, kill func(process), killGroup func()) (found, left int) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	seen := map[int]bool{}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		alive := find()
		for _, p := range alive {
			seen[p.pid] = true
			kill(p)
		}
		if len(alive) == 0 {
			return len(seen), 0
		}
		killGroup()
		// They may have forked meanwhile, and a killed one isn't gone at once.
		select {
		case <-ctx.Done():
			return len(seen), len(alive)
		case <-time.After(wait):
		}
	}
}

// EndLeftover ends every process of this user whose environment has all of
// vars ("NAME=value"), and what these have started, and returns how many it
// found: what a program left running when its agent was killed. Whoever it found
// is gone when it returns, but for left of them: a process that waits for a disk
// that doesn't answer can't be ended, and is waited for neither long nor after
// ctx has ended. The environment is what the process was started with, so it
// finds grandchildren too, whatever process group they are in.
func EndLeftover(ctx context.Context, vars ...string) (found, left int) {
	t := tree{marks: vars}
	return t.kill(ctx, killTime)
}

// Leftover are the commands, as ps calls them, of the processes that EndLeftover would end.
func Leftover(vars ...string) (commands []string) {
	t := tree{marks: vars}
	for _, p := range t.find() {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/comm")
		if err == nil {
			commands = append(commands, strings.TrimSpace(string(b)))
		}
	}
	return commands
}

// EndRun is EndLeftover for what is left of a program that had the mark
// ("UNITD_RUN=…") and that Cmd.Within, also where it is found by its cgroup alone.
func EndRun(ctx context.Context, groups *Cgroups, mark, within string) (found, left int) {
	group := groups.former(mark, within)
	defer group.leave()
	t := tree{marks: []string{mark}, group: group, whole: true}
	return t.kill(ctx, killTime)
}
