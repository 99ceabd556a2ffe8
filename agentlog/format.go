package agentlog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/unitd/unitd/journald"
)

// The forms of a line. Each record is one line in all of them.
const (
	Text   = "text"   // key=value, with the host's time
	Logfmt = "logfmt" // as text, with the time in UTC and levels in lower case
	JSON   = "json"   // an object with time in UTC, level, msg and the attributes
)

// Formats are all forms.
func Formats() []string { return []string{Text, Logfmt, JSON} }

// NewHandler writes lines of a form to w. An error is in it as people see it elsewhere; slog
// would print where in the program it came by. now gives times of another clock; nil: the
// host's.
func NewHandler(w io.Writer, format string, now func() time.Time) slog.Handler {
	o := &slog.HandlerOptions{ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
		if len(groups) == 0 && attr.Key == slog.TimeKey {
			if now != nil {
				attr.Value = slog.TimeValue(now())
			}
			if format != Text && attr.Value.Kind() == slog.KindTime {
				attr.Value = slog.TimeValue(attr.Value.Time().UTC())
			}
		}
		if level, ok := attr.Value.Any().(slog.Level); ok && format == Logfmt && len(groups) == 0 && attr.Key == slog.LevelKey {
			attr.Value = slog.StringValue(strings.ToLower(level.String()))
		}
		if err, ok := attr.Value.Any().(error); ok {
			attr.Value = slog.StringValue(err.Error())
		}
		if d, ok := attr.Value.Any().(time.Duration); ok && format == JSON {
			attr.Value = slog.StringValue(d.String()) // as in the other forms
		}
		return attr
	}}
	if format == JSON {
		return slog.NewJSONHandler(w, o)
	}
	return slog.NewTextHandler(w, o)
}

// levelled begins each line with its level in angle brackets, by which systemd knows how
// severe a line is that a service prints. Source: docs/spec/service-manager.md §5.
type levelled struct {
	slog.Handler
	out *prefixed
}

// newLevelled is a handler that make makes, with lines that begin so.
func newLevelled(w io.Writer, make func(io.Writer) slog.Handler) slog.Handler {
	out := &prefixed{w: w}
	return levelled{make(out), out}
}

// WithAttrs is part of slog.Handler.
func (l levelled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return levelled{l.Handler.WithAttrs(attrs), l.out}
}

// WithGroup is part of slog.Handler.
func (l levelled) WithGroup(name string) slog.Handler {
	return levelled{l.Handler.WithGroup(name), l.out}
}

// Handle is part of slog.Handler.
func (l levelled) Handle(ctx context.Context, r slog.Record) error {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	l.out.prefix = fmt.Sprintf("<%d>", journald.Priority(r.Level))
	return l.Handler.Handle(ctx, r)
}

// prefixed writes what it is given, a line at a time, behind a prefix.
type prefixed struct {
	w      io.Writer
	mu     sync.Mutex // held by whoever sets the prefix, until the line is written
	prefix string
}

func (p *prefixed) Write(line []byte) (int, error) {
	n, err := p.w.Write(append([]byte(p.prefix), line...))
	return max(0, n-len(p.prefix)), err
}
