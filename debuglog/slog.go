package debuglog

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Handler is a slog.Handler that writes an agent's own messages to the log.
// The attribute "unit" says whose they are; the others follow the message as
// "key=value".
type Handler struct {
	Log *Log
	// Entity is whose messages are that have no "unit".
	Entity string
	// Module is the module of all of them.
	Module string
	// Level is the least severe level that is written.
	Level slog.Level
	// Now is the time by the agent's clock; nil: that of the message.
	Now   func() time.Time
	attrs []slog.Attr
}

// Enabled is part of slog.Handler.
func (h Handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.Level }

// WithAttrs is part of slog.Handler.
func (h Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(append([]slog.Attr(nil), h.attrs...), attrs...)
	return h
}

// WithGroup is part of slog.Handler; groups are not shown.
func (h Handler) WithGroup(string) slog.Handler { return h }

// Handle is part of slog.Handler.
func (h Handler) Handle(_ context.Context, r slog.Record) error {
	e := Entry{Time: r.Time, Entity: h.Entity, Level: levelName(r.Level), Module: h.Module}
	switch {
	case h.Now != nil:
		e.Time = h.Now()
	case e.Time.IsZero():
		e.Time = time.Now()
	}
	var text strings.Builder
	text.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		if a.Key == "unit" {
			e.Entity = tag(a.Value.String())
		} else {
			fmt.Fprintf(&text, " %s=%q", a.Key, a.Value.String())
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	e.Message = text.String()
	return h.Log.Write(e)
}

func levelName(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "ERROR"
	case l >= slog.LevelWarn:
		return "WARNING"
	case l >= slog.LevelInfo:
		return "INFO"
	}
	return "DEBUG"
}
