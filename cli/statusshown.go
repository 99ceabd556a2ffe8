package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
)

// statusQuestion is what a command asks the agent to show the status by, which is this
// very program.
type statusQuestion struct {
	// Model is the name of the model that was chosen; empty: none was.
	Model string
	// Command is what the asking program was called, and Zone the time zone of its
	// environment.
	Command, Zone string
	Format        string
	UTC, Quiet    bool
	Selectors     []string
}

// zone is the variable that says in which time zone times are shown.
const zone = "TZ"

// shown shows the status as the agent of this host has it, if it has; false: the
// command has to look for itself.
func (a statusVerbs) shown(selectors []string, f statusFlags) bool {
	if f.watch.on || f.output != "" || f.format != "json" && f.format != "yaml" {
		return false
	}
	name, err := a.modelName()
	if err != nil {
		return false
	}
	what, err := json.Marshal(statusQuestion{
		Model: name, Command: a.Command(), Zone: os.Getenv(zone), Format: f.format, UTC: f.utc, Quiet: a.Host.Quiet, Selectors: selectors,
	})
	if err != nil {
		return false
	}
	out, notes, ok := a.Host.Shown(string(what))
	if ok {
		a.printf("%s", out)
		_, _ = a.Err.Write(notes)
	}
	return ok
}

// answerStatus is a machine.Showing.
func answerStatus(ctx context.Context, c *state.Controller, w machine.Word, what string) (out, notes []byte, err error) {
	var q statusQuestion
	if err := json.Unmarshal([]byte(what), &q); err != nil {
		return nil, nil, errors.Trace(err)
	}
	if q.Zone != os.Getenv(zone) {
		return nil, nil, errors.NotSupportedf("times of another zone")
	}
	m, err := modelOf(ctx, c.WithCommand(q.Command), q.Model)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	s, err := m.Status(ctx)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	w.See(s)
	var printed, noted bytes.Buffer
	host := agent.New(ctx, &noted, q.Command)
	host.Quiet = q.Quiet
	verbs := statusVerbs{base{&output{Streams: Streams{Out: &printed, Err: &noted, Quiet: q.Quiet}}, &focus{Host: host}}}
	err = verbs.showStatus(m, s, q.Selectors, statusFlags{format: q.Format, utc: q.UTC})
	return printed.Bytes(), noted.Bytes(), errors.Trace(err)
}

// modelOf is the model of that name, or the one that is meant where none was chosen.
func modelOf(ctx context.Context, c *state.Controller, name string) (*state.Model, error) {
	infos, err := c.Models(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if name == "" {
		if name, err = unchosen(infos); err != nil {
			return nil, errors.Trace(err)
		}
	}
	for _, info := range infos {
		if info.Name == name {
			return c.Open(info), nil
		}
	}
	return nil, errors.NotFoundf("model %q", name)
}
