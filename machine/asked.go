package machine

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/recording/tap"
	"github.com/unitd/unitd/uniter"
)

// tapped is a container whose Pebble a run may ask, while that is recorded.
type tapped struct {
	name string
	// was is the socket's file at the start of the run; nil: there was none.
	was os.FileInfo
	up  bool
	tap *tap.Tap // nil: there is none
}

// tapPebbles has it recorded what a run asks of its containers' Pebbles, where the
// application wants that, until what it returns is called. The tap's socket is over
// Pebble's, as the charm sees it, for that time and no longer: an agent that isn't
// there isn't missed. Where a tap can't be had, the recording says so, and the charm
// finds Pebble itself.
func (u *unit) tapPebbles(run uniter.Run) (end func()) {
	t, c := u.taking, u.cell.Load()
	if t == nil || c == nil || u.inPod == nil || len(u.inPod.names) == 0 {
		return func() {}
	}
	if !u.recordsPebble {
		t.rec.AskedNote = "left out: " + recordPebbleHint
		return func() {}
	}
	var all []*tapped
	for _, name := range u.inPod.names {
		p := &tapped{name: name}
		all = append(all, p)
		if err := u.tapPebble(p, c, run, t.calls); err != nil {
			u.log.Warn("cannot record what is asked of Pebble", "unit", u.name, "container", name, "err", err)
			t.rec.AskedNote = "left out: it could not be recorded"
		}
	}
	return func() {
		for _, p := range all {
			t.rec.Containers = append(t.rec.Containers, u.untapPebble(p, c))
		}
	}
}

// recordPebbleHint says how what is asked of Pebble is recorded.
const recordPebbleHint = "\"unitd config APPLICATION unitd-record-pebble=true\" records it from the next hook on"

// tapPebble puts a tap in front of a container's Pebble, unless nobody answers there:
// the charm is to find out for itself.
func (u *unit) tapPebble(p *tapped, c *cell, run uniter.Run, to *recording.Recorder) error {
	socket := PebbleSocket(u.dir, p.name)
	p.was, _ = os.Stat(socket) // nil where it isn't there
	if p.up = pebble.Listens(socket); !p.up {
		return nil
	}
	opened, err := tap.Open(tap.Options{
		Path: filepath.Join(u.dir, "pebble-"+p.name+".tap"), Pebble: socket, Container: p.name, Recorder: to,
		Others: func(pid int) bool { return ofAnotherRun(pid, u.runMark(run)) },
	})
	if err != nil {
		return errors.Trace(err)
	}
	if err := c.AttachBind(tapName(p.name), isolate.Bind{From: opened.Path(), To: tapPlace(p.name)}); err != nil {
		_ = opened.Close() // nobody has seen it
		return errors.Trace(err)
	}
	p.tap = opened
	return nil
}

// untapPebble takes a tap away, and says how the container has been meanwhile.
func (u *unit) untapPebble(p *tapped, c *cell) recording.Container {
	if p.tap != nil {
		err := c.Detach(tapName(p.name), tapPlace(p.name))
		if cerr := p.tap.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			u.log.Warn("cannot end the recording of what is asked of Pebble", "unit", u.name, "container", p.name, "err", err)
		}
	}
	is, err := os.Stat(PebbleSocket(u.dir, p.name))
	same := p.was == nil && err != nil || p.was != nil && err == nil && os.SameFile(is, p.was) && is.ModTime().Equal(p.was.ModTime())
	switch {
	case !same || p.up && p.tap == nil:
		return recording.Container{Name: p.name, State: recording.ContainerChanged}
	case !p.up:
		return recording.Container{Name: p.name, State: recording.ContainerDown}
	}
	return recording.Container{Name: p.name, State: recording.ContainerUp}
}

// dropTaps takes away what an agent has left over the sockets that was killed in a
// hook.
func (u *unit) dropTaps(c *cell, containers []string) error {
	for _, name := range containers {
		if err := c.Detach(tapName(name), tapPlace(name)); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func tapName(container string) string { return "pebble of " + container }

func tapPlace(container string) string { return charmContainers + "/" + container + "/pebble.socket" }

// ofAnotherRun says whether a process was started by another run than that with the
// mark, as one that an earlier hook has left in the background.
func ofAnotherRun(pid int, mark string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if bytes.HasPrefix(v, []byte(runner.MarkVariable+"=")) {
			return string(v) != mark
		}
	}
	return false
}
