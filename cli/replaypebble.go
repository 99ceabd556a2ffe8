package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/peer"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/render"
)

// charmContainers is where a charm finds the sockets of its containers' Pebbles.
// Source: docs/spec/containers.md §4.3.
const charmContainers = "/charm/containers"

// notePebbles says what a recording lacks of what was asked of Pebbles.
func (a testVerbs) notePebbles(r *recording.Recording) {
	if r.AskedNote != "" {
		a.Note("What the charm asked of Pebble was %s.", r.AskedNote)
	}
	for _, c := range r.Containers {
		if c.State == recording.ContainerChanged {
			a.Note("Container %s started or ended while the hook ran: only part of what was asked of it is recorded.", c.Name)
		}
	}
	if r.AskedCutOff {
		a.Note("The run had more requests to Pebble than the first %d that were recorded.", len(r.Asked))
	}
}

// containersDir has the sockets of the stand-ins, as a charm's containers have them.
func (p *replay) containersDir() string { return filepath.Join(p.dir, "containers") }

// listenForPebbles makes the sockets of those containers that were up.
func (p *replay) listenForPebbles() error {
	p.notePebbles(p.rec)
	p.pebbles = map[string]net.Listener{}
	for _, c := range p.rec.Containers {
		if c.State == recording.ContainerDown || p.pebbles[c.Name] != nil {
			continue
		}
		dir := filepath.Join(p.containersDir(), c.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return errors.Annotate(err, "cannot stand in for Pebble")
		}
		l, err := peer.Listen(filepath.Join(dir, "pebble.socket"))
		if err != nil {
			return errors.Annotate(err, "cannot stand in for Pebble")
		}
		p.pebbles[c.Name] = l
	}
	return nil
}

// placed is the hook's program as it is to be run: where it finds the stand-ins, if
// there are any.
func (p *replay) placed(path string) (program string, args []string, err error) {
	if len(p.pebbles) == 0 {
		return path, nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, errors.Trace(err)
	}
	root := filepath.Join(p.dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		return "", nil, errors.Trace(err)
	}
	return isolate.Placed(self, root, p.containersDir(), charmContainers, path)
}

// servePebbles answers in the place of Pebbles until what it returns is called.
func (p *replay) servePebbles() (end func()) {
	var all []*recording.StandIn
	for name, l := range p.pebbles {
		all = append(all, recording.StandInFor(l, p.player, name, p.showAnswered))
	}
	return func() {
		for _, s := range all {
			s.Close()
		}
	}
}

// showAnswered prints a request to a Pebble.
func (p *replay) showAnswered(a recording.AnsweredAsked) {
	if !p.flags.verbose {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	what := fmt.Sprintf("  %d", a.Asked.Status)
	switch {
	case a.Recorded == 0:
		what = "  (not in the recording)"
	case a.Recorded != a.Number:
		what += fmt.Sprintf("  (recorded as request %d)", a.Recorded)
	}
	p.printf("%4d  %s%s\n", a.Number, render.Harmless(a.Asked.String()), p.paint(p.Out, render.Grey, what))
}

// counts says how much the hook did.
func (p *replay) counts() string {
	calls, asked := callCount(p.player.Made()), p.player.MadeAsked()
	switch {
	case len(p.rec.Containers) == 0:
		return calls
	case asked == 1:
		return calls + ", 1 request to Pebble"
	}
	return fmt.Sprintf("%s, %d requests to Pebble", calls, asked)
}

// showAsked shows a request of which there is another one, with what it has where
// that is what differs.
func (a testVerbs) showAsked(name string, r, other *recording.Asked) {
	if r == nil {
		return
	}
	a.printf("  %-9s %s\n", name, render.Harmless(r.String()))
	if other == nil || r.String() != other.String() {
		return
	}
	text := func(c recording.Content) {
		if c.LeftOut() {
			a.printf("  %-9s %d bytes, %s\n", "", c.Size, c.Digest)
		}
		for line := range strings.Lines(string(c.Bytes)) {
			a.printf("  %-9s %s\n", "", render.Harmless(strings.TrimSuffix(line, "\n")))
		}
	}
	text(r.Body.Content)
	for _, part := range r.Body.Parts {
		text(part.Content)
	}
	if r.Exec != nil {
		text(r.Exec.Stdin)
		text(r.Exec.Control)
	}
}
