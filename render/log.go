package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/unitd/unitd/debuglog"
)

// LogLine is an entry as a line, or as a record of indented lines. Source: docs/spec/cli-juju.md §2b, at its end.
func LogLine(e debuglog.Entry, utc, date, colours bool) string {
	at, layout := e.Time.Local(), time.TimeOnly
	if utc {
		at = e.Time.UTC()
	}
	if date {
		layout = time.DateTime
	}
	level := e.Level
	if colours {
		level = Paint(levelColour(level), level)
	}
	return fmt.Sprintf("%s: %s %s %s %s", e.Entity, at.Format(layout), level, e.Module, Record(e.Message, "    "))
}

func levelColour(level string) Colour {
	switch level {
	case "DEBUG":
		return Green
	case "INFO":
		return blue
	case "WARNING":
		return Yellow
	case "ERROR", "CRITICAL":
		return BrightRed
	}
	return plain
}

// Record is a message that may have several lines as one record: all but its
// first line are indented, so that none passes for a record of its own.
func Record(message, indent string) string {
	lines := debuglog.Lines(message)
	for i, line := range lines {
		lines[i] = Harmless(line)
	}
	return strings.Join(lines, "\n"+indent)
}
