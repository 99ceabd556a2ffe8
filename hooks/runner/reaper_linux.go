package runner

import (
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reapAfter is how long a child is a zombie, at least, before it is reaped.
const reapAfter = time.Second

// Reaper makes this process the parent of what its programs leave behind, such
// as daemons, in place of init, and reaps these when they end. So whatever a
// program has started stays below this process, where it is found.
//
// Who waits for a process that it has started itself, as os/exec does, must get
// its status and not find that it was reaped already. The kernel offers no wait
// for "children but these", and a wait for any (with WNOWAIT, to look first)
// shows the same child again until it is reaped, hiding those behind it. So the
// children are listed, and of the zombies among them each is reaped by its
// number, if it is none of a Runner's programs, not of this process's own group
// (a hook's processes never are, those of a plain os/exec are), and if it was a
// zombie reapAfter before: whoever waits for a child takes it at once.
type Reaper struct {
	mu sync.Mutex
	// own are the programs that are waited for.
	own map[int]bool
	// former are the children that this process had already when it became this program:
	// nobody waits for them, whatever group they are in.
	former map[int]bool
	ended  chan os.Signal
	stop   chan struct{}
	done   chan struct{}
}

// Adopt begins to reap; nil if this kernel doesn't let it. Whoever makes it
// closes it, and gives it to all Runners of the process.
func Adopt() *Reaper { return adopt(nil, nil) }

// AdoptAgain is Adopt for a process that was another program before, and has that one's
// children. held are programs that Resume will wait for.
func AdoptAgain(held []int) *Reaper { return adopt(held, children()) }

func adopt(held, former []int) *Reaper {
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		return nil
	}
	r := &Reaper{own: map[int]bool{}, former: map[int]bool{}, ended: make(chan os.Signal, 1), stop: make(chan struct{}), done: make(chan struct{})}
	for _, pid := range former {
		r.former[pid] = true
	}
	for _, pid := range held {
		r.own[pid] = true
	}
	ended := r.ended
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		defer close(r.done)
		defer signal.Stop(ended)
		if len(r.former) > 0 {
			r.lookNow() // some may have ended before
		}
		r.loop(ended)
	}()
	return r
}

// Close ends it; what is left behind from then on is init's.
func (r *Reaper) Close() {
	if r == nil {
		return
	}
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	close(r.stop)
	<-r.done
}

// loop looks a while after a child has ended, and no more once there are no
// zombies: an agent that has nothing to do does nothing.
func (r *Reaper) loop(ended <-chan os.Signal) {
	var look <-chan time.Time
	seen := map[int]string{}
	for {
		select {
		case <-r.stop:
			return
		case <-ended:
			if look == nil {
				look = time.After(reapAfter)
			}
		case <-look:
			look = nil
			if seen = r.reap(seen); len(seen) > 0 {
				look = time.After(reapAfter)
			}
		}
	}
}

// reap reaps the orphans that were zombies before, and returns those that are
// for the first time.
func (r *Reaper) reap(before map[int]string) map[int]string {
	seen := map[int]string{}
	group := unix.Getpgrp()
	for _, pid := range children() {
		p, ok := look(pid)
		if !ok || !p.zombie || p.group == group && !r.former[pid] || r.waits(pid) {
			continue
		}
		if before[pid] != p.began {
			seen[pid] = p.began
			continue
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // somebody may have
		delete(r.former, pid)
	}
	return seen
}

// children are the processes whose parent this one is.
func children() []int {
	paths, err := filepath.Glob("/proc/self/task/*/children")
	var pids []int
	if err != nil || len(paths) == 0 {
		// The kernel was built without the list.
		for _, p := range processes() {
			if p.parent == os.Getpid() {
				pids = append(pids, p.pid)
			}
		}
		return pids
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // that thread has ended
		}
		for word := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func (r *Reaper) waits(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own[pid]
}

// LetGo has a program be reaped that was held, and that nobody will wait for.
func (r *Reaper) LetGo(pid int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	delete(r.own, pid)
	r.mu.Unlock()
	r.lookNow() // it may have ended before
}

// lookNow has it look though no child has ended now.
func (r *Reaper) lookNow() {
	select {
	case r.ended <- syscall.SIGCHLD:
	default: // it is about to
	}
}

// spare keeps a program from being reaped until release: it is waited for.
func (r *Reaper) spare(pid int) (release func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[pid] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.own, pid)
	}
}

// awaitEnd waits until a child has ended, and leaves it to be waited for; false: it can't.
func awaitEnd(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
