package agent

import (
	"io"
	"log/slog"
	"time"
)

// NewLog is a log that has one line for everything. An error is in it as people
// see it elsewhere; slog would print where in the program it came by.
func NewLog(w io.Writer) *slog.Logger { return NewLogBy(w, nil) }

// NewLogBy is NewLog with times of another clock; nil: the host's.
func NewLogBy(w io.Writer, now func() time.Time) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
		if now != nil && len(groups) == 0 && attr.Key == slog.TimeKey {
			attr.Value = slog.TimeValue(now())
		}
		if err, ok := attr.Value.Any().(error); ok {
			attr.Value = slog.StringValue(err.Error())
		}
		return attr
	}}))
}
