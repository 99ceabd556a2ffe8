package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

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
	// Command is what the asking program was called, and Zone is by zone.
	Command, Zone string
	Format        string
	UTC, Quiet    bool
	Selectors     []string
}

// zone tells time zones apart by their names and what they are off UTC, now and half a
// year ago. An agent keeps the one in which it was started.
func zone() string {
	said, now := "", time.Now()
	for _, t := range []time.Time{now, now.AddDate(0, -6, 0)} {
		name, off := t.Zone()
		said += fmt.Sprint(name, off, " ")
	}
	return said
}

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
		Model: name, Command: a.Command(), Zone: zone(), Format: f.format, UTC: f.utc, Quiet: a.Host.Quiet, Selectors: selectors,
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
func answerStatus(ctx context.Context, c *state.Controller, word func() machine.Word, what string) (out, notes []byte, err error) {
	var q statusQuestion
	if err := json.Unmarshal([]byte(what), &q); err != nil {
		return nil, nil, errors.Trace(err)
	}
	if !q.UTC && q.Zone != zone() {
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
	word().See(s)
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
	return c.Among(infos, name)
}
