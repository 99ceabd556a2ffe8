package render

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/unitd/unitd/debuglog"
)

// LogFormats are the forms of an entry of a log: LogLine's is the first, and LogRecord has the
// others.
func LogFormats() []string { return []string{"text", "json", "logfmt"} }

// LogRecord is an entry as one line for programs, "json" or "logfmt": its time in UTC, and the
// unit that it is of. The words are those of the log's file and, in logfmt, those of the
// agent's own log.
func LogRecord(e debuglog.Entry, format string) string {
	e.Time = e.Time.UTC()
	if format == "json" {
		b, err := json.Marshal(struct {
			debuglog.Entry
			Unit string `json:"unit,omitempty"`
		}{e, unitOf(e.Entity)})
		if err == nil { // as for any text and any time of this age
			return string(b)
		}
	}
	pairs := [][2]string{
		{"time", e.Time.Format(time.RFC3339Nano)}, {"level", strings.ToLower(e.Level)}, {"msg", e.Message},
		{"entity", e.Entity}, {"module", e.Module}, {"unit", unitOf(e.Entity)},
	}
	var b strings.Builder
	for _, p := range pairs {
		if p[0] == "unit" && p[1] == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p[0] + "=" + logfmt(p[1]))
	}
	return b.String()
}

// unitOf is the name of the unit that an entity is; empty: it is none.
func unitOf(entity string) string {
	rest, ok := strings.CutPrefix(entity, "unit-")
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return ""
	}
	return rest[:i] + "/" + rest[i+1:]
}

// logfmt is a value that ends where it seems to.
func logfmt(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r == '"' || r == '=' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
