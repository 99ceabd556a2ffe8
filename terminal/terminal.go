// Package terminal says what a stream can show: whether it is a terminal, how wide,
// and in colours or not; and has a line of it written over and over.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"golang.org/x/term"
)

// ClearLine has a terminal begin its line anew.
const ClearLine = "\r\x1b[K"

// Is says whether a stream is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colourful says whether a stream is a terminal that wants colours.
func Colourful(w io.Writer) bool {
	return Is(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Width is how many characters a line of a stream may have: those of the terminal
// that it is, else those that COLUMNS says, else 80.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return 80
}

// Line is one line of a terminal that is written over and over. That of nil shows
// nothing. Several goroutines may show at once.
type Line struct {
	to    io.Writer
	width int

	mu    sync.Mutex
	shown string
}

// NewLine is a line of w; nil: that is no terminal.
func NewLine(w io.Writer) *Line {
	if !Is(w) {
		return nil
	}
	return LineOf(w, Width(w))
}

// LineOf is a line of what has so many characters in one, terminal or not.
func LineOf(w io.Writer, width int) *Line { return &Line{to: w, width: width} }

// Show shows name, or as much of its end as has room, and what is said of it; said
// empty: nothing. What is the same as before isn't written again. A line that is
// longer than the terminal is wide would stay where it is.
func (l *Line) Show(name, said string) {
	if l == nil {
		return
	}
	text := ""
	if said != "" {
		text = "  " + ending(name, l.width-len(said)-5) + ": " + said
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if text == l.shown {
		return
	}
	l.shown = text
	fmt.Fprint(l.to, ClearLine+text)
}

// Clear leaves an empty line.
func (l *Line) Clear() { l.Show("", "") }

// ending is as much of a text's end as has room.
func ending(text string, room int) string {
	runes := []rune(text)
	if len(runes) <= room {
		return text
	}
	return "…" + string(runes[len(runes)-max(room-1, 0):])
}
