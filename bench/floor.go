package bench

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sync/errgroup"
)

// disk is a file for durable writes.
type disk struct{ file *os.File }

func newDisk(dir string) (*disk, error) {
	f, err := os.CreateTemp(dir, "durable-")
	return &disk{f}, errors.Annotate(err, "cannot make a file to write to")
}

// write is one durable write of a kilobyte.
func (d *disk) write() error {
	_, err := d.file.WriteAt(make([]byte, 1024), 0)
	if err == nil {
		err = d.file.Sync()
	}
	return errors.Annotate(err, "cannot write durably")
}

func (d *disk) close() {
	d.file.Close()
	os.Remove(d.file.Name())
}

// script writes a script that does nothing, as the charms' dispatch does.
func (m *measuring) script() (string, error) {
	path := filepath.Join(m.dir, "nothing")
	return path, errors.Annotate(os.WriteFile(path, []byte(nothing), 0o700), "cannot write a script")
}

// process is fork, exec and wait of a program.
func process(ctx context.Context, program string) error {
	return errors.Annotate(exec.CommandContext(ctx, program).Run(), "cannot run a script")
}

// bare is what one hook can't do without: a process between two durable writes.
func (d *disk) bare(ctx context.Context, script string) error {
	if err := d.write(); err != nil {
		return err
	}
	if err := process(ctx, script); err != nil {
		return err
	}
	return d.write()
}

// atOnce starts n processes as a plain program does, so many at a time.
func atOnce(ctx context.Context, script string, n, width int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(width)
	for range n {
		group.Go(func() error { return process(ctx, script) })
	}
	return errors.Trace(group.Wait())
}

// cost is what something took, of the clock and of this process's processor time.
func cost(do func() error) (took, used time.Duration, err error) {
	before, err := usedHere()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	after, err := usedHere()
	return took, after - before, err
}

// echo answers each connection with what comes by it, as little as an agent could
// do for a hook tool call.
type echo struct {
	listener net.Listener
	over     chan struct{}
	dir      string // of its own, to be removed; empty: none
}

// maxSocketPath is how long the path of a socket can be everywhere: Darwin's
// sun_path has 104 bytes, the last of them zero.
const maxSocketPath = 103

// request is about as long as a hook tool's.
var request = []byte(strings.Repeat("x", 128))

// newEcho listens in dir, or where a path is short enough for that.
func newEcho(dir string) (_ *echo, err error) {
	const name = "echo"
	e := &echo{over: make(chan struct{})}
	if len(filepath.Join(dir, name)) > maxSocketPath {
		if dir, err = os.MkdirTemp("/tmp", "unitd-bench-"); err != nil {
			return nil, errors.Annotate(err, "cannot listen")
		}
		e.dir = dir
	}
	if e.listener, err = net.Listen("unix", filepath.Join(dir, name)); err != nil {
		if e.dir != "" {
			os.Remove(e.dir)
		}
		return nil, errors.Annotate(err, "cannot listen")
	}
	go e.answer()
	return e, nil
}

// answer answers until the listener is closed.
func (e *echo) answer() {
	defer close(e.over)
	for {
		c, err := e.listener.Accept()
		if err != nil {
			return
		}
		b := make([]byte, len(request))
		if _, err := io.ReadFull(c, b); err == nil {
			_, _ = c.Write(b) // who asks finds out
		}
		c.Close()
	}
}

// ask is one round trip, with a connection of its own.
func (e *echo) ask() error {
	c, err := net.Dial("unix", e.listener.Addr().String())
	if err != nil {
		return errors.Annotate(err, "cannot make a round trip")
	}
	defer c.Close()
	if _, err = c.Write(request); err == nil {
		_, err = io.ReadFull(c, make([]byte, len(request)))
	}
	return errors.Annotate(err, "cannot make a round trip")
}

func (e *echo) close() {
	e.listener.Close()
	<-e.over
	if e.dir != "" {
		os.Remove(e.dir)
	}
}

// lastLine is the last line of a file; empty: there is none.
func lastLine(path string) string {
	b, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
