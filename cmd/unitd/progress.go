package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/render"
)

// clearLine has a terminal begin its line anew.
const clearLine = "\r\x1b[K"

// progressLine shows on a terminal how far an image is, in one line that is written
// over and over. That of nil shows nothing.
type progressLine struct {
	to    io.Writer
	width int

	mu    sync.Mutex
	shown string
}

// imageProgress is the line on standard error; nil: that is no terminal.
func (a *app) imageProgress() *progressLine {
	if !isTerminal(a.stderr) {
		return nil
	}
	return &progressLine{to: a.stderr, width: a.width()}
}

// image shows how far an image is. What is the same as before isn't written again.
func (l *progressLine) image(p oci.Progress) {
	if l == nil {
		return
	}
	text := ""
	if said := p.Text(); said != "" {
		text = "  " + ending(render.Harmless(p.Reference), l.width-len(said)-5) + ": " + said
	}
	l.show(text)
}

// clear leaves an empty line.
func (l *progressLine) clear() {
	if l != nil {
		l.show("")
	}
}

func (l *progressLine) show(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text == l.shown {
		return
	}
	l.shown = text
	fmt.Fprint(l.to, clearLine+text)
}

// ending is as much of a text's end as has room: a line that is longer than the
// terminal is wide would stay where it is.
func ending(text string, room int) string {
	runes := []rune(text)
	if len(runes) <= room {
		return text
	}
	return "…" + string(runes[len(runes)-max(room-1, 0):])
}
