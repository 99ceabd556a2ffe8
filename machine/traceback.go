package machine

import "strings"

// traceback looks in the lines of a text for what a Python program says of the
// exception that has ended it: the one that was raised last, of those that one was
// raised for. Its message may have many lines, as pydantic's have, and be followed
// by notes, so the last line of the text mostly isn't what has happened. The zero
// value has seen no line.
type traceback struct {
	open   bool   // its frames are being read
	indent int    // of its header
	mark   string // what each of its lines begins with
	own    string
	after  int // the lines since
}

// messageLines is how many lines a message can have: of an exception with more
// behind it the program has told long before it failed.
const messageLines = 100

const (
	tracebackHeader = "Traceback (most recent call last):"
	groupHeader     = "+ Exception Group " + tracebackHeader
)

// line takes the next line of the text.
func (t *traceback) line(line string) {
	line = strings.TrimRight(line, " \t\r")
	if t.begins(line) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		*t = traceback{open: true, indent: indent, mark: line[:indent]}
		if strings.HasSuffix(line, groupHeader) {
			t.mark += "| "
		}
		return
	}
	rest := strings.TrimPrefix(line, t.mark)
	switch {
	case t.open && (rest == "" || strings.TrimLeft(rest, " \t") != rest): // a frame
	case t.open:
		t.open, t.own = false, rest
	case t.own != "":
		t.after++
		if t.after == 1 && strings.HasSuffix(t.own, ":") {
			// It only announces what has happened, as Pebble's "cannot perform the following tasks:".
			t.own = strings.TrimSpace(t.own + " " + strings.TrimSpace(rest))
		}
	}
}

// begins says whether a line is the header of a traceback that isn't part of the
// present one's message, where it stands further in or within a group.
func (t *traceback) begins(line string) bool {
	before, ok := strings.CutSuffix(line, tracebackHeader)
	if !ok || strings.Contains(before, "| ") {
		return false
	}
	known := t.open || t.own != ""
	return !known || strings.HasSuffix(line, groupHeader) || len(line)-len(strings.TrimLeft(line, " ")) <= t.indent
}

// exception is the exception's own line, "ValueError: no such port"; empty: the
// text doesn't end with a traceback.
func (t *traceback) exception() string {
	if t.after > messageLines {
		return ""
	}
	return t.own
}
