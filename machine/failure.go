package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// The bounds of what a failure tells of its hook's output.
const (
	tailLines = 10
	tailBytes = 2 << 10
)

// outputTail keeps the end of a hook's output for people: the last lines of
// both streams, and the last one on standard error, which mostly says why.
type outputTail struct {
	mu    sync.Mutex
	kept  []string
	bytes int
	last  string
}

func (o *outputTail) add(s runner.Stream, line string) {
	line = strings.ToValidUTF8(line, "\uFFFD")
	o.mu.Lock()
	defer o.mu.Unlock()
	if s == runner.Stderr && line != "" {
		o.last = line
	}
	line = cut(line, tailBytes-len("…"))
	o.kept = append(o.kept, line)
	o.bytes += len(line)
	for len(o.kept) > tailLines || o.bytes > tailBytes {
		o.bytes -= len(o.kept[0])
		o.kept = o.kept[1:]
	}
}

// lines are the last lines.
func (o *outputTail) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.kept...)
}

// with adds the last line on standard error to what happened, cut to a length
// that a status table can take.
func (o *outputTail) with(what string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == "" {
		return what
	}
	return what + ": " + cut(o.last, 200)
}

// cut is the text, or so many bytes of it and a sign that there was more.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end-- // not in the middle of a character
	}
	return s[:end] + "…"
}

// reportError publishes what there is to know of the failed run: in the unit's
// status for people, and beside it what the agent remembers, by which others
// can tell what an answer will bring.
func (u *unit) reportError(ctx context.Context, r uniter.Report) error {
	c := r.Local.Current
	if c == nil || c.Failure == nil {
		return nil
	}
	if err := u.model.SetFailed(ctx, u.name, r.Run, remembered(r.Local)); err != nil {
		return errors.Trace(err)
	}
	return u.agentStatus(ctx, model.StatusError, fmt.Sprintf("hook failed: %q", r.Hook.Name()), failureData(r, *c.Failure))
}

// remembered is what an agent remembers as a document; none where it is more
// than a document can be.
func remembered(l resolver.Local) json.RawMessage {
	b, err := json.Marshal(l)
	if err != nil || len(b) > rememberedMost {
		return nil
	}
	return b
}

// rememberedMost leaves a document that has it well below store.MaxValue.
const rememberedMost = 512 << 10

// failureData is what the status of a failed run says beside its message.
func failureData(r uniter.Report, f resolver.Failure) map[string]any {
	data := map[string]any{"hook": r.Hook.Name(), "run": r.Run, "reason": f.Message}
	switch {
	case f.Interrupted:
		data["interrupted"] = true
	case f.Signal != "":
		data["signal"] = f.Signal
	case f.Exit >= 0:
		data["exit"] = f.Exit
	}
	if len(f.Output) > 0 {
		data["output"] = f.Output
	}
	if r.Hook.IsRelation() {
		data["relation-id"] = int(r.Hook.RelationID)
		if r.Hook.RemoteUnit != "" {
			data["remote-unit"] = string(r.Hook.RemoteUnit)
		}
	}
	return data
}

// Outlook is what an answer to the failed run of a unit will bring.
type Outlook struct {
	// Failed is that run.
	Failed resolver.Current
	// Ops is what the agent will do: see resolver.Preview.
	Ops []resolver.Op
}

// Preview is the outlook if the failed run of a unit were answered in that mode
// now. Errors: those of Model.Resolve, and NotFound where the agent hasn't
// published what it remembers.
func Preview(ctx context.Context, m *state.Model, unit model.UnitName, mode resolver.Mode, now time.Time) (Outlook, error) {
	doc, err := m.Failure(ctx, unit)
	if err != nil {
		return Outlook{}, errors.Trace(err)
	}
	if doc.Remembered == nil {
		return Outlook{}, errors.NewNotFound(nil, fmt.Sprintf("the agent of %s hasn't said what it remembers", unit))
	}
	var l resolver.Local
	if err := json.Unmarshal(doc.Remembered, &l); err != nil {
		return Outlook{}, errors.Annotatef(err, "cannot read what the agent of %s remembers", unit)
	}
	if l.Current == nil || l.Current.Run != doc.Run {
		return Outlook{}, errors.NewNotFound(nil, fmt.Sprintf("the agent of %s hasn't said what it remembers of run %d", unit, doc.Run))
	}
	ops, err := resolver.Preview(l, mode, func(l resolver.Local) (resolver.Remote, error) {
		r, err := Look(ctx, m, unit, l, now)
		if errors.Is(err, errors.NotFound) {
			r, err = resolver.Remote{Now: now, Gone: true}, nil
		}
		return r, errors.Trace(err)
	})
	return Outlook{Failed: *l.Current, Ops: ops}, errors.Trace(err)
}
