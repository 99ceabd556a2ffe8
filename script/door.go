package script

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/workload"
)

// Door has another program play in one world, with the commands of scripts: a test
// written in Python has so all that scripts have, and nothing is written twice. What
// is asked comes as lines of JSON, one at a time, and each is answered by one line.
// The first line that goes out tells of the world.
type Door struct {
	// Params says how the world is; its files are the door's own.
	Params
	// Real has the world begin at the host's time, and time go on between the
	// commands as the host's does. Else it begins as those of scripts, and stands
	// still.
	Real bool
	In   io.Reader
	Out  io.Writer
}

// Asked is what comes in by a Door. One of its members is set.
type Asked struct {
	// Command is a command of scripts with its arguments.
	Command []string `json:"command,omitempty"`
	// Dir is the directory in which the command is run; empty: the world's own.
	Dir string `json:"dir,omitempty"`
	// Report asks how the world looks, as a script shows that has failed.
	Report bool `json:"report,omitempty"`
	// Due asks which faults were to happen and never have.
	Due bool `json:"due,omitempty"`
	// Real has time go on as the host's does, or stand still.
	Real *bool `json:"real,omitempty"`
}

// Told is what goes out.
type Told struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	// Error says why the command has failed; Misuse: it can't have been meant so.
	Error  string `json:"error,omitempty"`
	Misuse bool   `json:"misuse,omitempty"`
	// Now is the world's time.
	Now time.Time `json:"now"`
	// World is told once, at the beginning.
	World *Opened `json:"world,omitempty"`
}

// Opened is what a program needs to know of a world to work in it beside the door.
type Opened struct {
	Data string `json:"data"` // its data directory
	Work string `json:"work"` // a directory that its hooks see as $UNITD_WORK
	// Program is the unitd that the world has, Environment what it is to be given to
	// be in the world, beside that of the host.
	Program     string            `json:"program"`
	Environment map[string]string `json:"environment"`
}

// Serve opens the world, and closes it when there is nothing more to read. The
// error says why it couldn't be opened, or which guarantee a unit has broken in it.
func (d *Door) Serve(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "unitd-world-")
	if err != nil {
		return errors.Annotate(err, "cannot make a world")
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "world.txtar")
	if err := os.WriteFile(file, []byte(doorCommand+"\n"), 0o600); err != nil {
		return errors.Annotate(err, "cannot make a world")
	}
	p := d.Params
	p.Files, p.door = []string{file}, d
	outcomes, err := (&Suite{Params: p, Parallel: 1, Out: io.Discard}).Run(ctx)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Outcome != Passed {
			return errors.New(o.Output)
		}
	}
	return nil
}

// doorCommand is the one line of a door's script. Scripts don't have it.
const doorCommand = "serve-door"

// tick is how far time leaps in a world that goes on as the host does, and rounds
// how often the agent makes its rounds then, for the next of which its leases are
// kept meanwhile.
const (
	tick   = 50 * time.Millisecond
	rounds = 5 * time.Second
)

// visit is what one program does in a world.
type visit struct {
	world  *world
	engine *engine
	desk   *desk
	cmds   map[string]Cmd

	// mu is held while a command runs, and while time leaps.
	mu   sync.Mutex
	real bool
	// began is when the host's clock was last known to be at the world's time since,
	// made when the agent was last told to make its rounds.
	began, since, made time.Time
}

// serve answers what is asked until there is nothing more.
func (d *Door) serve(e *engine, w *world, ts *testscript.TestScript) error {
	v := &visit{world: w, engine: e, desk: &desk{TestScript: ts}, cmds: map[string]Cmd{}}
	for _, cmd := range Commands() {
		v.cmds[cmd.Name] = cmd
	}
	v.take(d.Real)
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.goOn(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	out := json.NewEncoder(d.Out)
	if err := out.Encode(Told{Now: w.clock.Now(), World: v.opened()}); err != nil {
		return errors.Trace(err)
	}
	for in := asks(ctx, d.In); ; {
		var asked *Asked
		var more bool
		select {
		case asked, more = <-in:
		case <-ctx.Done():
		}
		if !more {
			return nil
		}
		told := Told{Error: "it is not a line of JSON as expected", Misuse: true}
		if asked != nil {
			told = v.answer(*asked)
		}
		told.Now = w.clock.Now()
		if err := out.Encode(told); err != nil {
			return errors.Trace(err)
		}
	}
}

// asks are what comes in until ctx ends or there is no more; nil: something that
// can't be read.
func asks(ctx context.Context, in io.Reader) <-chan *Asked {
	all := make(chan *Asked)
	go func() {
		defer close(all)
		for decoder := json.NewDecoder(in); ; {
			asked := &Asked{}
			err := decoder.Decode(asked)
			if errors.Is(err, io.EOF) || ctx.Err() != nil {
				return
			}
			if err != nil {
				asked = nil
			}
			select {
			case all <- asked:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return // nobody knows where the next one would begin
			}
		}
	}()
	return all
}

// opened is what there is to know of the world.
func (v *visit) opened() *Opened {
	env := map[string]string{
		"UNITD_DATA": v.world.dir, nowVariable: lab.TimeFile + v.timeFile(),
		isolateVariable: v.engine.Isolate, lab.StoreVariable: v.world.url, bases.Variable: v.engine.Bases,
	}
	if v.engine.Pebble != "" {
		env[workload.PebbleVariable] = v.engine.Pebble
	}
	return &Opened{Data: v.world.dir, Work: v.world.work, Program: v.world.unitd, Environment: env}
}

// timeFile has the world's time for who is in it beside the door.
func (v *visit) timeFile() string { return filepath.Join(v.world.work, ".now") }

// take has time go on as the host's does, or stand still, from now on.
func (v *visit) take(real bool) {
	v.real = real
	v.began, v.since = v.world.clock.Now(), time.Now()
	host := time.Time{}
	if real {
		host = v.since
	}
	if err := lab.WriteTime(v.timeFile(), v.began, host); err != nil {
		fmt.Fprintf((*agentLog)(v.world), "%v\n", err)
	}
	hold := !real
	_, _ = v.world.tell(lab.Request{Hold: &hold}) // an agent that has ended needs no word
}

// goOn lets time pass as the host's does, where it is to, until ctx ends.
func (v *visit) goOn(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			v.mu.Lock()
			if v.real {
				v.leap()
			}
			v.mu.Unlock()
		}
	}
}

// leap has it be as late in the world as it is now.
func (v *visit) leap() {
	w := v.world
	if a, err := w.running(); err == nil {
		select {
		case <-a.ended:
			w.gone(a)
			_, _ = w.rebooted(a) // without another agent only time goes on
		default:
		}
	}
	now := v.began.Add(time.Since(v.since))
	answer, err := w.setTime(v.desk, now, now.Add(rounds), false)
	if err != nil {
		return
	}
	if _, err := w.carryOut(answer); err != nil {
		fmt.Fprintf((*agentLog)(w), "%v\n", err)
	}
	if len(w.early) > 0 { // who is in the world beside the door relates as well
		_ = w.sayEarly() // the next command says what can't be written
	}
	if now.Sub(v.made).Abs() >= rounds {
		v.made = now
		_, _ = w.tell(lab.Request{Rounds: true}) // it says so by itself when it can't go on
	}
}

// answer does what is asked. The agent stands still meanwhile, as between the lines
// of a script.
func (v *visit) answer(asked Asked) Told {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.real {
		hold := true
		_, _ = v.world.tell(lab.Request{Hold: &hold})
	}
	real := v.real
	defer func() { v.take(real) }()
	switch {
	case asked.Real != nil:
		real = *asked.Real
		return Told{}
	case asked.Report:
		return Told{Stdout: v.world.report()}
	case asked.Due:
		return Told{Stdout: v.world.due()}
	}
	return v.command(asked)
}

// command carries out a command of scripts.
func (v *visit) command(asked Asked) Told {
	if len(asked.Command) == 0 {
		return Told{Error: "nothing was asked for", Misuse: true}
	}
	name, args := asked.Command[0], asked.Command[1:]
	cmd, ok := v.cmds[name]
	if !ok || name == "explore" {
		return Told{Error: fmt.Sprintf("there is no command %q here", name), Misuse: true}
	}
	dir := asked.Dir
	if dir == "" {
		dir = v.world.work
	}
	v.desk.clear()
	err := v.desk.Chdir(dir)
	if err == nil {
		c := &call{world: v.world, engine: v.engine, ts: v.desk, args: args, cmd: cmd}
		v.world.carry = c.player()
		err = c.do()
	}
	told := Told{}
	told.Stdout, told.Stderr = v.desk.said()
	if err != nil {
		told.Error, told.Misuse = strings.TrimSpace(err.Error()), errors.As(err, &misuse{})
	}
	return told
}

// stage is what commands need of the script that they stand in.
type stage interface {
	Stdout() io.Writer
	Stderr() io.Writer
	Exec(program string, args ...string) error
	ReadFile(name string) string
	MkAbs(name string) string
	Getenv(name string) string
	Setenv(name, value string)
}

// desk is a stage whose commands are answered one by one: what each prints is its
// own. As in scripts what a command prints by itself takes the place of what it has
// run has printed.
type desk struct {
	*testscript.TestScript
	out, err         strings.Builder
	printed, hasExec bool
	// before is what the last command has printed that has printed something.
	before struct{ stdout, stderr string }
}

// Stdout is part of stage.
func (d *desk) Stdout() io.Writer {
	d.printed = true
	return &d.out
}

// Stderr is part of stage.
func (d *desk) Stderr() io.Writer {
	d.printed = true
	return &d.err
}

// Exec is part of stage.
func (d *desk) Exec(program string, args ...string) error {
	d.hasExec = true
	return d.TestScript.Exec(program, args...)
}

// ReadFile is part of stage.
func (d *desk) ReadFile(name string) string {
	switch {
	case d.hasExec:
	case name == "stdout":
		return d.before.stdout
	case name == "stderr":
		return d.before.stderr
	}
	return d.TestScript.ReadFile(name)
}

// clear makes room for another command, which still can look at what this one has printed.
func (d *desk) clear() {
	if d.printed || d.hasExec {
		d.before.stdout, d.before.stderr = d.said()
	}
	d.out.Reset()
	d.err.Reset()
	d.printed, d.hasExec = false, false
}

// said is what the command has printed.
func (d *desk) said() (stdout, stderr string) {
	switch {
	case d.printed:
		return d.out.String(), d.err.String()
	case d.hasExec:
		return d.ReadFile("stdout"), d.ReadFile("stderr")
	}
	return "", ""
}
