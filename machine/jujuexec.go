package machine

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"github.com/juju/gnuflag"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
)

// runSocket is the socket for commands from outside of hooks, in Config.Dir; the
// client looks for it beside the directory of the tools.
const runSocket = "run.socket"

// serveCommands serves juju-exec until ctx ends and the result is called.
func (a *agent) serveCommands(ctx context.Context) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	path := filepath.Join(a.Dir, runSocket)
	// A link of a former agent's, whose socket had to be elsewhere.
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSymlink {
		if err := a.Disk.Remove(path); err != nil {
			return nil, errors.Annotate(err, "cannot listen for commands")
		}
	}
	server, err := tools.Listen(path, a.Log)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if server.Addr() != path {
		if err := a.Disk.Symlink(server.Addr(), path); err != nil {
			server.Close()
			return nil, errors.Annotate(err, "cannot listen for commands")
		}
	}
	server.Relieve(a.spares.give)
	server.ServeOutside(func(call context.Context, req wire.Request) wire.Reply {
		if reply, ok := a.telling.answerWord(req); ok {
			return reply
		}
		if reply, ok := a.answerShow(ctx, call, req); ok {
			return reply
		}
		if reply, ok := a.answerUpgrade(ctx, call, req); ok {
			return reply
		}
		if reply, ok := a.answerTakenOver(call, req); ok {
			return reply
		}
		return a.command(ctx, call, req, caller{})
	})
	return func() {
		cancel() // whoever waits for commands
		server.Close()
		if server.Addr() != path {
			a.Disk.Remove(path)
		}
	}, nil
}

// jujuExec is a call of juju-exec. Source: docs/spec/hook-tools.md §8.
type jujuExec struct {
	unit, model, relation, remoteUnit, remoteApp string
	force, noContext, help                       bool
	commands                                     []string
}

const jujuExecHelp = `Usage: juju-exec [options] [UNIT] COMMAND

Summary:
Run commands in the context of a unit, when it is the unit's turn.

Options:
-m, --model (= "")
    the model of the unit, where it isn't the caller's
-r, --relation (= "")
    the relation to run in, by its id
--remote-unit (= "")
    the remote unit to run with
--no-context (= false)
    run the command on the host, in no unit's context, while no hook runs there
--operator (= false)
    nothing: it is for Kubernetes
--remote-app (= "")
    the remote application to run with
--force-remote-unit (= false)
    run also if the remote unit has left the relation
-u (= "-")
    the unit, instead of the first argument
`

func parseJujuExec(args []string) (jujuExec, error) {
	var c jujuExec
	var operator bool
	f := gnuflag.NewFlagSetWithFlagKnownAs(args[0], gnuflag.ContinueOnError, "option")
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.StringVar(&c.unit, "u", "-", "")
	f.StringVar(&c.model, "m", "", "")
	f.StringVar(&c.model, "model", "", "")
	f.StringVar(&c.relation, "r", "", "")
	f.StringVar(&c.relation, "relation", "", "")
	f.StringVar(&c.remoteUnit, "remote-unit", "", "")
	f.StringVar(&c.remoteApp, "remote-app", "", "")
	f.BoolVar(&c.force, "force-remote-unit", false, "")
	f.BoolVar(&c.noContext, "no-context", false, "")
	f.BoolVar(&operator, "operator", false, "") // there is nowhere else to run it
	// Left to gnuflag, help is an error that it keeps and lengthens every time.
	f.BoolVar(&c.help, "help", false, "")
	f.BoolVar(&c.help, "h", false, "")
	if err := f.Parse(false, args[1:]); err != nil {
		return c, errors.Trace(err)
	}
	c.commands = f.Args()
	switch {
	case c.help:
		return c, nil
	case c.noContext && c.unit != "-" && c.unit != "":
		return c, errors.New("--no-context is for no unit: -u can't be given as well")
	case c.noContext:
	case c.unit != "-":
	case len(c.commands) > 0 && unitOf(c.commands[0]) != "":
		c.unit, c.commands = c.commands[0], c.commands[1:]
	default:
		c.unit = ""
	}
	if len(c.commands) == 0 {
		return c, errors.New("missing commands")
	}
	return c, nil
}

// unitOf is the unit that "app/0" or "unit-app-0" names; empty: none.
func unitOf(name string) model.UnitName {
	if tag, ok := strings.CutPrefix(name, "unit-"); ok {
		if i := strings.LastIndexByte(tag, '-'); i > 0 {
			name = tag[:i] + "/" + tag[i+1:]
		}
	}
	unit, err := model.ParseUnitName(name)
	if err != nil {
		return ""
	}
	return unit
}

// caller is the isolated unit whose machine a call comes from; zero: it comes from the host.
type caller struct {
	model *state.Model
	unit  model.UnitName
}

// reaches says whether a call may be for a unit of a model, by its UUID. Root in an isolated
// unit's machine has no leave in another one, nor on the host.
func (c caller) reaches(uuid string, u state.UnitDoc) bool {
	return c.model == nil || c.model.UUID() == uuid && (u.Name == c.unit || u.Principal == c.unit)
}

// command runs what juju-exec was given, when it is the unit's turn. ctx is the
// agent's, call the caller's: if that ends, nobody wants the commands any more.
func (a *agent) command(ctx, call context.Context, req wire.Request, from caller) wire.Reply {
	if len(req.Args) == 0 || !slices.Contains(tools.Outside(), req.Args[0]) {
		return tools.Failed(1, errors.New("bad request: unknown command"))
	}
	defer a.handing.call()()
	c, err := parseJujuExec(req.Args)
	if err != nil {
		return tools.Failed(2, err)
	}
	if c.help {
		return wire.Reply{Stdout: []byte(jujuExecHelp)}
	}
	if c.noContext {
		return a.alone(ctx, call, req.Dir, c.commands, from)
	}
	if c.unit == "" && c.model == "" {
		c.unit = string(from.unit)
	}
	m, unit, err := a.find(ctx, c, from)
	if err != nil {
		return tools.Failed(1, err)
	}
	if unit == "" {
		return tools.Failed(2, errors.New("missing unit-name"))
	}
	request := state.TaskRequest{Unit: string(unit), AnyRemote: c.force, TaskSpec: state.TaskSpec{
		Kind: state.ExecTask, Command: model.ShellLine(c.commands), Relation: model.NoRelation, RemoteUnit: model.UnitName(c.remoteUnit),
	}}
	switch {
	case c.relation != "":
		id, err := strconv.Atoi(c.relation[strings.LastIndexByte(c.relation, ':')+1:])
		if err != nil {
			return tools.Failed(2, errors.New("invalid relation id"))
		}
		request.Relation = model.RelationID(id)
	case c.remoteApp != "":
		return tools.Failed(1, errors.Errorf("remote app: %s, provided without a relation", c.remoteApp))
	}
	// Not by call: whoever has hung up in it still has a task then, which has to be
	// cancelled.
	op, tasks, err := m.Enqueue(ctx, req.Args[0]+" on "+string(unit), []state.TaskRequest{request})
	switch {
	case err != nil:
		return tools.Failed(1, err)
	case op.Fail != "":
		return tools.Failed(1, errors.New(op.Fail))
	}
	return a.awaitCommand(ctx, call, m, tasks[0].ID)
}

// find finds the unit that is meant, the only one of this agent's that the caller reaches if none
// was named; an empty name: there is more than one, or none.
func (a *agent) find(ctx context.Context, c jujuExec, from caller) (*state.Model, model.UnitName, error) {
	infos, err := a.Controller.Models(ctx)
	if err != nil {
		return nil, "", errors.Trace(err)
	}
	var in []*state.Model
	var units []model.UnitName
	for _, info := range infos {
		if c.model != "" && info.Name != c.model || a.Machine != nil && info.UUID != a.Machine.Model {
			continue
		}
		m := a.Controller.Open(info)
		all, err := m.Units(ctx)
		if err != nil {
			return nil, "", errors.Trace(err)
		}
		for _, u := range all {
			if !a.Machine.hosts(u) || !from.reaches(info.UUID, u) {
				continue
			}
			if c.unit == "" || u.Name == unitOf(c.unit) {
				in, units = append(in, m), append(units, u.Name)
			}
		}
	}
	switch {
	case len(in) == 1:
		return in[0], units[0], nil
	case c.unit == "":
		return nil, "", nil
	case len(in) == 0:
		return nil, "", errors.Errorf("unit %q not found on this machine", c.unit)
	}
	return nil, "", errors.Errorf("unit %q is in several models: say which by -m MODEL", c.unit)
}

// awaitCommand waits until a task has ended, and is what its caller sees of it. It
// cancels the task if call ends first.
func (a *agent) awaitCommand(ctx, call context.Context, m *state.Model, id string) wire.Reply {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := m.Watch(ctx, 0)
	if err != nil {
		return tools.Failed(1, err)
	}
	for {
		task, err := m.Task(ctx, id)
		if err != nil {
			return tools.Failed(1, err)
		}
		if task.Status.Ended() {
			return commandReply(task)
		}
		select {
		case <-call.Done():
			a.cancelCommand(ctx, m, id)
			return tools.Failed(1, context.Cause(call))
		case _, ok := <-watch:
			if !ok {
				return tools.Failed(1, errors.New("command execution aborted"))
			}
		}
	}
}

// cancelCommand cancels a task for whose end nobody waits any more. It tries until
// the store can be told of it, or ctx ends.
func (a *agent) cancelCommand(ctx context.Context, m *state.Model, id string) {
	for {
		_, err := m.CancelTask(ctx, id)
		if err == nil || ctx.Err() != nil || errors.Is(err, errors.NotValid) || errors.Is(err, errors.NotFound) {
			return
		}
		a.Log.Error("cannot cancel commands whose caller is gone", "model", m.Name(), "task", id, "err", err)
		select {
		case <-ctx.Done():
			return
		case <-a.Clock.After(trouble):
		}
	}
}

func commandReply(task state.TaskDoc) wire.Reply {
	var r wire.Reply
	for key, to := range map[string]*[]byte{"stdout": &r.Stdout, "stderr": &r.Stderr} {
		text, _ := task.Results[key].(string)
		*to = []byte(text)
		if task.Results[key+"-encoding"] == "base64" {
			if b, err := base64.StdEncoding.DecodeString(text); err == nil {
				*to = b
			}
		}
	}
	code, _ := task.Results["return-code"].(int64)
	r.Code = int(code)
	if task.Status != state.TaskCompleted {
		r.Code = max(r.Code, 1)
		r.Stderr = fmt.Appendf(r.Stderr, "ERROR command %s: %s\n", task.Status, task.Message)
	}
	return r
}
