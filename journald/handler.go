package journald

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Handler is a slog.Handler that writes to a journal. A record's message has its attributes in
// it, as "key=value", for who reads the journal; each is a field as well, by which it can be
// found. It is safe for use by many goroutines.
type Handler struct {
	// Socket is where the journal listens.
	Socket *Socket
	// Identifier is who logs, and with an underscore begins the names of fields of attributes:
	// "unitd" has UNITD_UNIT.
	Identifier string
	// Level is the least severe level that is written.
	Level slog.Level
	// Else gets what the journal doesn't take; nil: that is lost.
	Else  slog.Handler
	attrs []slog.Attr
	group string
}

// Enabled is part of slog.Handler.
func (h Handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.Level }

// WithAttrs is part of slog.Handler.
func (h Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if h.Else != nil {
		h.Else = h.Else.WithAttrs(attrs)
	}
	h.attrs = append([]slog.Attr(nil), h.attrs...)
	for _, a := range attrs {
		h.attrs = append(h.attrs, slog.Attr{Key: h.group + a.Key, Value: a.Value})
	}
	return h
}

// WithGroup is part of slog.Handler: a group's name begins those of its attributes.
func (h Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	if h.Else != nil {
		h.Else = h.Else.WithGroup(name)
	}
	h.group += name + "."
	return h
}

// Handle is part of slog.Handler.
func (h Handler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Socket.Send(h.fields(r))
	if err != nil && h.Else != nil {
		return h.Else.Handle(ctx, r)
	}
	return err
}

// fields are those of a record.
func (h Handler) fields(r slog.Record) []Field {
	fields := []Field{
		{"MESSAGE", ""},
		{"PRIORITY", strconv.Itoa(Priority(r.Level))},
		{"SYSLOG_IDENTIFIER", h.Identifier},
	}
	var text strings.Builder
	text.WriteString(r.Message)
	var add func(prefix string, a slog.Attr)
	add = func(prefix string, a slog.Attr) {
		value := a.Value.Resolve()
		if value.Kind() == slog.KindGroup {
			if a.Key != "" {
				prefix += a.Key + "."
			}
			for _, one := range value.Group() {
				add(prefix, one)
			}
			return
		}
		if a.Key == "" {
			return
		}
		said := said(value)
		text.WriteString(" " + prefix + a.Key + "=" + quoted(said))
		fields = append(fields, Field{Name(h.Identifier + "_" + prefix + a.Key), said})
	}
	for _, a := range h.attrs {
		add("", a)
	}
	r.Attrs(func(a slog.Attr) bool { add(h.group, a); return true })
	fields[0].Value = text.String()
	return fields
}

// said is a value as people read it: an error without where in the program it came by.
func said(v slog.Value) string {
	if err, ok := v.Any().(error); ok {
		return err.Error()
	}
	if v.Kind() == slog.KindTime {
		return v.Time().UTC().Format(time.RFC3339Nano)
	}
	return v.String()
}

// quoted is a value that ends where it seems to.
func quoted(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r == '"' || r == '=' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// Priority is how syslog counts a level: 3 is an error, 4 a warning, 6 for information, 7 for
// debugging. Source: docs/spec/service-manager.md §5.
func Priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	case l >= slog.LevelInfo:
		return 6
	}
	return 7
}
