package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
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

// outputTail keeps the end of what a hook says for people: the last lines of
// both streams and of what it logs as an error; and what each of standard error
// and the last error ends with, which mostly says why it has failed.
type outputTail struct {
	// relation is what the messages of a relation's hook begin with, "db:3".
	relation string

	mu      sync.Mutex
	kept    []string
	bytes   int
	printed said
	logged  said
}

// said is what lines of a hook say of its failure: the last of them, and the
// exception in them.
type said struct {
	last   string
	python traceback
}

func (s *said) line(line string) {
	if tells(line) {
		s.last = line
	}
	s.python.line(line)
}

func (o *outputTail) add(s runner.Stream, line string) {
	line = strings.ToValidUTF8(line, "\uFFFD")
	o.mu.Lock()
	defer o.mu.Unlock()
	if s == runner.Stderr {
		o.printed.line(line)
	}
	o.keep(line)
}

// log adds what the charm has logged by juju-log, if that is an error. A
// framework logs the traceback of what it has caught, and prints nothing.
func (o *outputTail) log(level, message string) {
	if o == nil || level != "ERROR" && level != "CRITICAL" {
		return
	}
	message = strings.ToValidUTF8(strings.TrimPrefix(message, o.relation+": "), "\uFFFD")
	o.mu.Lock()
	defer o.mu.Unlock()
	logged := said{}
	for _, line := range debuglog.Lines(message) {
		logged.line(line)
		o.keep(line)
	}
	if logged.last != "" {
		o.logged = logged
	}
}

// tells says whether a line can be a reason: one of dashes ends a block that others
// have quoted, as Ops does with what Pebble has logged.
func tells(line string) bool {
	return strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// keep keeps a line, as long as it is one of the last.
func (o *outputTail) keep(line string) {
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

// reasonBytes bounds the reason of a failure, in which a long path may stand.
const reasonBytes = 400

// with adds the charm's own reason to what happened: the exception that has ended
// a Python program, printed or logged; else the last line on standard error, else that
// of the last error that it has logged.
func (o *outputTail) with(what string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	reason := cmp.Or(o.printed.python.exception(), o.logged.python.exception(), o.printed.last, o.logged.last)
	if reason == "" {
		return what
	}
	return what + ": " + cut(reason, reasonBytes)
}

// oneLine is a text of several lines in one, as a reason is shown in tables.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
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

// seenInError is what there is to know of the failed run: in the unit's status
// for people, and beside it what the agent remembers, by which others can tell
// what an answer will bring.
func (u *unit) seenInError(r uniter.Report) state.Report {
	c := r.Local.Current
	if c == nil || c.Failure == nil {
		return state.Report{}
	}
	want := u.agentStatus(model.StatusError, fmt.Sprintf("hook failed: %q", r.Hook.Name()), failureData(r, *c.Failure))
	want.Failed = &state.FailureDoc{Run: r.Run, Remembered: remembered(r.Local)}
	return want
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
