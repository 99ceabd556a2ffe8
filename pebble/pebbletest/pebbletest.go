package pebbletest

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"
)

// Options say how a Pebble is run.
type Options struct {
	// Layers are the layers on disk, by file name, as "001-web.yaml".
	Layers map[string]string
	// State is the file .pebble.state that a former run has left; empty for none.
	State string
	// Args are further arguments of "pebble run", as "--hold".
	Args []string
	// Env are further variables, as "NAME=value".
	Env []string
	// Init has Pebble be the first process of a pid namespace, so that its boot id is
	// new each time. It needs root; without it the test is skipped.
	Init bool
	// Started has Start return before Pebble answers.
	Started bool
}

// Pebble is a Pebble that runs, or has run.
type Pebble struct {
	// Dir is its $PEBBLE, Socket where it listens.
	Dir, Socket string

	program string
	options Options
	cmd     *exec.Cmd
	gone    chan struct{}
}

// Start runs a Pebble that ends with the test. It answers when Start returns.
func Start(t TB, o Options) *Pebble {
	t.Helper()
	p := New(t, o)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p
}

// New is a Pebble that doesn't run yet: its directory is there, with its layers.
func New(t TB, o Options) *Pebble {
	t.Helper()
	if o.Init && os.Getuid() != 0 {
		t.Skipf("skipped: a pid namespace needs root")
	}
	program := Program(t)
	// A socket's path is bounded, and a test's own directory has its name in it.
	dir, err := os.MkdirTemp("", "unitd-pebble-")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pebble{Dir: dir, Socket: filepath.Join(dir, ".pebble.socket"), program: program, options: o}
	t.Cleanup(func() {
		p.end()
		if t.Failed() {
			log := p.Log()
			t.Logf("the end of Pebble's log:\n%s", log[max(0, len(log)-4096):])
		}
		_ = os.RemoveAll(dir)
	})
	if err := p.write(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Pebble) write() error {
	layers := filepath.Join(p.Dir, "layers")
	if err := os.Mkdir(layers, 0o755); err != nil {
		return errors.Trace(err)
	}
	for _, name := range slices.Sorted(maps.Keys(p.options.Layers)) {
		if err := os.WriteFile(filepath.Join(layers, name), []byte(p.options.Layers[name]), 0o644); err != nil {
			return errors.Trace(err)
		}
	}
	if p.options.State == "" {
		return nil
	}
	return errors.Trace(os.WriteFile(filepath.Join(p.Dir, ".pebble.state"), []byte(p.options.State), 0o600))
}

// Run starts the process, the first time or after it has ended, and waits until
// it answers.
func (p *Pebble) Run() error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Trace(err)
	}
	defer log.Close()
	p.cmd, p.gone = exec.Command(p.program, append([]string{"run"}, p.options.Args...)...), make(chan struct{})
	p.cmd.Env = append(os.Environ(), append([]string{"PEBBLE=" + p.Dir, "PEBBLE_SOCKET=" + p.Socket}, p.options.Env...)...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := runTied(p.cmd, p.options.Init, p.gone); err != nil {
		return errors.Trace(err)
	}
	if p.options.Started {
		return nil
	}
	return errors.Trace(p.ready())
}

// ready waits until it listens, or has ended.
func (p *Pebble) ready() error {
	late := time.After(2 * time.Minute)
	for {
		if c, err := net.Dial("unix", p.Socket); err == nil {
			return errors.Trace(c.Close())
		}
		select {
		case <-p.gone:
			return errors.Errorf("Pebble has ended: %s", p.Log())
		case <-late:
			return errors.Errorf("Pebble doesn't listen at %s", p.Socket)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (p *Pebble) logFile() string { return filepath.Join(p.Dir, "log") }

// Log is what Pebble has written.
func (p *Pebble) Log() string {
	log, _ := os.ReadFile(p.logFile())
	return string(log)
}

// Pid is the process's.
func (p *Pebble) Pid() int { return p.cmd.Process.Pid }

// Kill ends it where it is, with all that it has started if it is an Init, and
// waits until it is gone. Its socket's file stays, and so do the services of one
// that isn't an Init.
func (p *Pebble) Kill() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// Stop ends it in order, with its services, and waits until it is gone.
func (p *Pebble) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return errors.Trace(err)
	}
	<-p.gone
	return nil
}

// end ends it with all that it has started, if it runs.
func (p *Pebble) end() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	if !p.options.Init && p.Resume() == nil {
		_ = p.Stop()
	}
	p.Kill()
}

// Gone is closed when it has ended.
func (p *Pebble) Gone() <-chan struct{} { return p.gone }

// Halt stops it as if it hung; Resume lets it go on.
func (p *Pebble) Halt() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return errors.Trace(err)
	}
	// Its threads stop one after the other, and one of them could answer yet.
	for began := time.Now(); !p.stands(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			return errors.New("Pebble doesn't stop")
		}
	}
	return nil
}

// stands says whether none of its threads runs, as far as the system tells.
func (p *Pebble) stands() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if _, after, _ := strings.Cut(string(stat), ") "); err == nil && !strings.HasPrefix(after, "T") {
			return false
		}
	}
	return true
}

// Resume lets a halted one go on.
func (p *Pebble) Resume() error { return errors.Trace(p.cmd.Process.Signal(syscall.SIGCONT)) }

// Notify gives a custom notice by "pebble notify" with those arguments, as a
// workload does.
func (p *Pebble) Notify(args ...string) error {
	cmd := exec.Command(p.program, append([]string{"notify"}, args...)...)
	cmd.Env = append(os.Environ(), "PEBBLE="+p.Dir, "PEBBLE_SOCKET="+p.Socket)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pebble notify: %w: %s", err, out)
	}
	return nil
}
