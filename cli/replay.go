package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/tools"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	charm     string
	keepGoing bool
	verbose   bool
}

func (a testVerbs) replayCmd() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a recorded hook of a charm, and show where it differs",
		Long: `Run the hook that "unitd record" has written to FILE, of the charm in the current
directory or in --charm: with the recorded environment, and with the recorded
answers of hook tools. There is no model and no agent. The charm is copied to a
private directory first, and stays as it is.

If the recording has what the hook asked of Pebble in workload containers, these
requests are answered from it too: the hook finds /charm/containers as in its unit,
though there is no container. This takes Linux, and root or user name spaces.

The first call that differs from the recording is shown. Later ones are answered
as equal calls were, where there are such; others fail with "not in the recording".
The exit code is 0 if the hook makes the same calls, asks the same of Pebble, and
ends with the same exit code as in the recording, else 1.`,
		Example: `  unitd replay failed.txtar
  unitd replay failed.txtar --charm ./ledger -v`,
		Args: Args(1, 1, "no recording specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.replay(args[0], f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.charm, "charm", ".", "the charm: a directory, or a .charm file")
	fs.BoolVar(&f.keepGoing, "keep-going", false, "show each difference, and have calls that only write succeed if they aren't in the recording")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show each hook tool call")
	return cmd
}

func (a testVerbs) replay(file string, f replayFlags) error {
	r, err := a.readRecording(file)
	if err != nil {
		return err
	}
	p, err := a.newReplay(r, f)
	if err != nil {
		return err
	}
	defer p.remove()
	differences, err := p.run()
	if err != nil {
		return err
	}
	if len(differences) == 0 {
		a.printf("the same as recorded: %s, exit code %d\n", p.counts(), r.Exit)
		return nil
	}
	for _, d := range differences {
		a.showDifference(d)
	}
	return errors.Errorf("the replay differs from the recording: %s", differences[0].What)
}

func (a testVerbs) readRecording(file string) (*recording.Recording, error) {
	var b []byte
	var err error
	if file == "-" {
		b, err = io.ReadAll(a.In)
	} else {
		b, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the recording")
	}
	r, err := recording.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// replay is one replay of a recording.
type replay struct {
	testVerbs
	flags    replayFlags
	rec      *recording.Recording
	dir      string // of its own
	charm    string // the copy
	tools    string
	listener net.Listener
	player   *recording.Player
	pebbles  map[string]net.Listener // by the container
	end      context.CancelCauseFunc // kills the hook
	mu       sync.Mutex              // for what is printed
}

// newReplay makes all that a hook needs, in a directory of its own. It is to be
// removed.
func (a testVerbs) newReplay(r *recording.Recording, f replayFlags) (_ *replay, err error) {
	dir, err := replayDir()
	if err != nil {
		return nil, errors.Annotate(err, "cannot make a directory for the replay")
	}
	p := &replay{testVerbs: a, flags: f, rec: r, dir: dir, charm: filepath.Join(dir, "charm"), tools: filepath.Join(dir, "tools")}
	defer func() {
		if err != nil {
			p.remove()
		}
	}()
	if err := p.copyCharm(); err != nil {
		return nil, err
	}
	client, err := agent.ToolClient(dir)
	if err != nil {
		return nil, err
	}
	if err := p.linkTools(client); err != nil {
		return nil, err
	}
	p.listener, err = net.Listen("unix", filepath.Join(dir, socketName))
	if err != nil {
		return nil, errors.Annotate(err, "cannot listen for hook tools")
	}
	p.player = recording.NewPlayer(r, p.charm, f.keepGoing)
	if err := p.listenForPebbles(); err != nil {
		return nil, err
	}
	return p, nil
}

// linkTools makes the hook tools, those included that only the recording knows.
func (p *replay) linkTools(client string) error {
	dir := tools.NewOwn(client, "").Dir(p.tools)
	if _, err := dir.Mend(); err != nil {
		return err
	}
	for _, c := range p.rec.Calls {
		name := c.Args[0]
		if name == "." || name == ".." || filepath.Base(name) != name {
			continue
		}
		if err := os.Symlink(dir.Client(), filepath.Join(p.tools, name)); err != nil && !os.IsExist(err) {
			return errors.Annotatef(err, "cannot link hook tool %q", name)
		}
	}
	return nil
}

const (
	socketName = "socket"
	// maxSocketPath is how long the path of a socket can be everywhere.
	maxSocketPath = 103
)

// replayDir makes a directory that only its owner can enter, with a path that
// has no links in it and is short enough for a socket's.
func replayDir() (string, error) {
	for _, base := range []string{os.TempDir(), "/tmp"} {
		dir, err := os.MkdirTemp(base, "unitd-replay-")
		if err != nil {
			return "", errors.Trace(err)
		}
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && len(filepath.Join(real, socketName)) <= maxSocketPath {
			return real, nil
		}
		if rerr := os.Remove(dir); err == nil {
			err = rerr
		}
		if err != nil {
			return "", errors.Trace(err)
		}
	}
	return "", errors.New("the paths of temporary directories are too long for a socket")
}

// copyCharm puts the charm in place as an agent does, with the stored state as
// it was.
func (p *replay) copyCharm() error {
	charm, err := charmdir.Read(p.flags.charm)
	if err != nil {
		return err
	}
	hold, err := p.Build(charm, charmbuild.Place{})
	if err != nil {
		return err
	}
	defer hold.Release()
	path := filepath.Join(p.dir, "archive")
	archive, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot copy the charm")
	}
	_, err = charm.Archive(archive)
	if cerr := archive.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = charmdir.NewDeployer(durable.Disk{}, p.dir).Deploy(p.Context(), path, "replay:"+charm.Name)
	}
	if err != nil {
		return errors.Annotate(err, "cannot copy the charm")
	}
	state := filepath.Join(p.charm, recording.StateFile)
	switch {
	case p.rec.State == nil && p.rec.StateNote != "":
		p.Note("The stored state of the charm (%s) was %s.", recording.StateFile, p.rec.StateNote)
		return nil
	case p.rec.State == nil:
		if err := os.Remove(state); err != nil && !os.IsNotExist(err) {
			return errors.Annotate(err, "cannot remove a stored state")
		}
		return nil
	}
	return errors.Annotate(os.WriteFile(state, p.rec.State, 0o600), "cannot write the stored state")
}

func (p *replay) remove() {
	if p.listener != nil {
		p.listener.Close()
	}
	for _, l := range p.pebbles {
		l.Close()
	}
	if err := charmdir.RemoveTree(durable.Disk{}, p.dir); err != nil {
		p.failure(errors.Annotate(err, "cannot remove the replay's directory"))
	}
}

// run runs the hook and says where it differs.
func (p *replay) run() ([]recording.Difference, error) {
	path, err := machine.Executable(p.charm, p.rec.Getenv("JUJU_DISPATCH_PATH"))
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("the charm has no %q hook", p.rec.Hook))
	}
	ctx, end := context.WithCancelCause(p.Context())
	defer end(nil)
	p.end = end
	server := recording.Serve(p.listener, p.player, p.rec.Getenv("JUJU_CONTEXT_ID"), p.showCall)
	path, args, err := p.placed(path)
	if err != nil {
		server.Close()
		return nil, err
	}
	endPebbles := p.servePebbles()
	var r runner.Runner
	mark := "UNITD_RUN=" + p.dir
	o := r.Run(ctx, runner.Cmd{Path: path, Args: args, Dir: p.charm, Env: append(p.environ(), mark), Output: p.show})
	runner.EndLeftover(context.WithoutCancel(p.Context()), mark)
	endPebbles()
	server.Close()
	r.Close()
	switch {
	case p.Context().Err() != nil:
		return nil, errors.Trace(p.Context().Err())
	case o.Err != nil:
		p.failure(errors.New(machine.StartError(path, o.Err)))
	}
	exit := o.Exit
	if o.Signal != 0 {
		exit = -1
	}
	return p.player.Finish(exit), nil
}

// environ is the recorded environment with the paths of this replay.
func (p *replay) environ() []string {
	socket := filepath.Join(p.dir, socketName)
	here := map[string]string{
		"CHARM_DIR": p.charm, "JUJU_CHARM_DIR": p.charm,
		"JUJU_AGENT_SOCKET_ADDRESS": socket, "JUJU_AGENT_SOCKET": socket, "JUJU_AGENT_SOCKET_NETWORK": "unix",
		"PATH": p.tools + string(os.PathListSeparator) + machine.LocalHost().Path,
	}
	var env []string
	for _, v := range p.rec.Env {
		name, _, _ := strings.Cut(v, "=")
		if _, ours := here[name]; !ours && name != "UNITD_RUN" {
			env = append(env, v)
		}
	}
	for name, value := range here {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// show prints a line of the hook's output.
func (p *replay) show(s runner.Stream, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == runner.Stderr {
		p.Note("%s", render.Harmless(line))
		return
	}
	p.printf("%s\n", render.Harmless(line))
}

func (p *replay) showCall(c recording.Answered) {
	if c.Ends {
		p.end(runner.AtOnce)
	}
	if !p.flags.verbose {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	what := ""
	switch {
	case c.Recorded == 0:
		what = "  (not in the recording)"
	case c.Recorded != c.Number:
		what = fmt.Sprintf("  (recorded as call %d)", c.Recorded)
	}
	if c.Call.Code != 0 {
		what = fmt.Sprintf("  exit %d%s", c.Call.Code, what)
	}
	p.printf("%4d  %s%s\n", c.Number, c.Call, p.paint(p.Out, render.Grey, what))
}

func callCount(n int) string {
	if n == 1 {
		return "1 hook tool call"
	}
	return fmt.Sprintf("%d hook tool calls", n)
}

// showDifference shows the recorded call and the actual one, one below the
// other, with what they have read where that is what differs.
func (a testVerbs) showDifference(d recording.Difference) {
	a.printf("%s\n", d.What)
	side := func(name string, c *recording.Call) {
		if c == nil {
			return
		}
		a.printf("  %-9s %s\n", name, c)
		if d.SameArguments() {
			for line := range strings.Lines(string(c.Input())) {
				a.printf("  %-9s %s\n", "", render.Harmless(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	side("recorded", d.Recorded)
	side("now", d.Actual)
	a.showAsked("recorded", d.RecordedAsked, d.ActualAsked)
	a.showAsked("now", d.ActualAsked, d.RecordedAsked)
}
