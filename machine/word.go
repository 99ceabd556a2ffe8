package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
)

// Word is what an agent says of itself past its store, for commands on its host.
type Word struct {
	// Trouble is why the agent can't write to its store, and Since since when;
	// empty: it can.
	Trouble string    `json:"trouble,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Units has, by the model's UUID, the units of this agent that the store
	// says less of than it should: what it doesn't have of each.
	Units map[string]map[model.UnitName]state.Report `json:"units,omitempty"`
	// Images has those that the agent is fetching, by their references, and how far
	// they are, in a few words.
	Images map[string]string `json:"images,omitempty"`
}

// Of are the units of a model in Units. Nobody's word has none.
func (w *Word) Of(m *state.Model) map[model.UnitName]state.Report {
	if w == nil {
		return nil
	}
	return w.Units[m.UUID()]
}

// askWord is what is sent to the agent's socket to be told its Word.
const askWord = "unitd-agent-word"

// word is the agent's.
func (t *telling) word() Word {
	w := Word{Units: map[string]map[model.UnitName]state.Report{}, Images: t.fetched()}
	w.Trouble, w.Since = t.health.trouble()
	for _, d := range t.all("") {
		untold := d.untold()
		if w.Trouble == "" && untold.Empty() {
			continue
		}
		uuid := d.model.UUID()
		if w.Units[uuid] == nil {
			w.Units[uuid] = map[model.UnitName]state.Report{}
		}
		w.Units[uuid][d.name] = untold
	}
	return w
}

// answerWord is the answer to who asks for the Word; false: it asks for something
// else.
func (t *telling) answerWord(req wire.Request) (wire.Reply, bool) {
	if len(req.Args) != 1 || req.Args[0] != askWord {
		return wire.Reply{}, false
	}
	b, err := json.Marshal(t.word())
	if err != nil {
		return tools.Failed(1, err), true
	}
	return wire.Reply{Stdout: b}, true
}

// wordTime is how long who asks for the Word waits.
const wordTime = 5 * time.Second

// ErrSilent marks the error for an agent that doesn't answer in time.
const ErrSilent = errors.ConstError("the agent doesn't answer")

// Ask asks the agent that works in dir (Config.Dir) for its Word. It is the zero
// Word where no agent listens there, as before it is ready. Errors: ErrSilent where
// it doesn't answer within some seconds, or before ctx ends.
func Ask(ctx context.Context, dir string) (Word, error) {
	reply, err := ask(ctx, dir, askWord)
	switch {
	case errors.Is(err, errors.NotFound):
		return Word{}, nil
	case err != nil:
		return Word{}, errors.Annotate(err, "cannot ask the agent how it is")
	case reply.Code != 0:
		return Word{}, nil // it is of a version that says nothing
	}
	var w Word
	return w, errors.Annotate(json.Unmarshal(reply.Stdout, &w), "cannot read what the agent says")
}

// ask is the reply of the agent that works in dir to words that no command has. Errors:
// NotFound where no agent listens there; ErrSilent, as Ask has it.
func ask(ctx context.Context, dir string, words ...string) (wire.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, wordTime)
	defer cancel()
	reply, err := exchange(ctx, dir, words)
	if err != nil && (errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil) {
		return wire.Reply{}, errors.Trace(ErrSilent)
	}
	return reply, errors.Trace(err)
}

func exchange(ctx context.Context, dir string, words []string) (wire.Reply, error) {
	path := filepath.Join(dir, runSocket)
	if to, err := os.Readlink(path); err == nil {
		path = to // its socket had to be elsewhere
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return wire.Reply{}, errors.NewNotFound(err, "no agent listens")
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // long ago
	if _, err := conn.Write(wire.AppendRequest(nil, wire.Request{Args: words})); err != nil {
		return wire.Reply{}, errors.Trace(err)
	}
	reply, err := wire.ReadReply(conn)
	return reply, errors.Trace(err)
}

// Told says whether the store has all that the agent wants to be seen of a
// model's units.
func (w Word) Told(uuid string) bool {
	for _, r := range w.Units[uuid] {
		if !r.Empty() {
			return false
		}
	}
	return true
}

// See puts what the agent says of a model's units into a status of that model:
// so it looks as it would if the store had all of it. A unit whose agent can't
// write to its store says so, whatever it was like before.
func (w Word) See(s *state.FullStatus) {
	units := w.Units[s.Model.UUID]
	for i := range s.Applications {
		app := &s.Applications[i]
		var shown []model.Status
		for j := range app.Units {
			u := &app.Units[j]
			if r, ok := units[u.Name]; ok {
				*u = w.seen(r, *u)
			}
			u.Fetching = w.Fetching(u.Containers)
			shown = append(shown, u.Workload)
		}
		if !app.StatusSet && len(shown) > 0 {
			app.Status = model.DeriveStatus(shown)
		}
	}
}

// Fetching says of the first image that the agent is fetching for a unit's containers
// how far it is; empty: there is none.
func (w Word) Fetching(c state.ContainersDoc) string {
	say := func(container, image string) string {
		if text := w.Images[image]; text != "" {
			return fmt.Sprintf("fetching the image of container %s: %s", container, text)
		}
		return ""
	}
	for _, one := range c.Containers {
		if said := say(one.Name, one.Image); said != "" && one.State == state.ContainerFetching {
			return said
		}
	}
	if c.Next != nil && c.Next.Fault == "" {
		return say(c.Next.Container, c.Next.Image)
	}
	return ""
}

// seen is how a unit looks of which the store doesn't have a report.
func (w Word) seen(r state.Report, u state.UnitView) state.UnitView {
	u = r.Seen(u)
	if w.Trouble == "" {
		return u
	}
	trouble := "the store can't be written to: " + w.Trouble
	if u.Agent.Status == model.StatusExecuting {
		u.Agent.Message += "; " + trouble
		return u
	}
	if u.Agent.Status == model.StatusFailed && r.Agent != nil {
		trouble = u.Agent.Message
	}
	u.Agent = model.Status{Status: model.StatusFailed, Message: trouble, Since: w.Since}
	return u
}
