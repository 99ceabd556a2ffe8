package main

import (
	"slices"
	"strconv"
	"strings"
)

// style is how a piece of text looks. The zero colour is the terminal's own.
type style struct {
	colour string
	bold   bool
}

// piece is text of one style, and line what stands in a line of the terminal.
type (
	piece struct {
		text  string
		style style
	}
	line []piece
)

// The colours of SGR 30 to 37 and 90 to 97 that are readable on the picture's
// ground; prompt is that of the sign before a command.
const prompt = "#8a93a5"

var colours = map[int]string{
	31: "#f07178", 32: "#8fd18a", 33: "#e6c07b", 34: "#7aa2f7", 35: "#c792ea", 36: "#6fc3df", 37: "#a9b1c2",
	91: "#ff8b92", 92: "#a5e8a0", 93: "#ffd88a", 94: "#9dbcff", 95: "#dfb0ff", 96: "#8fe0f7", 97: "#ffffff",
}

// read is what a terminal shows once it has had all of that: a carriage return
// begins the line anew, ESC [ K empties the rest of it, ESC [ … m sets the style.
// Other control sequences aren't understood, and are left out.
func read(out []byte) []line {
	var (
		screen []line
		cells  []piece // one rune each
		at     int
		now    style
	)
	text := strings.ReplaceAll(string(out), "\r\n", "\n")
	for len(text) > 0 {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				break
			}
			switch rest[end] {
			case 'm':
				now = now.after(rest[:end])
			case 'K':
				cells = cells[:min(at, len(cells))]
			}
			text = rest[end+1:]
			continue
		}
		r := []rune(text[:min(4, len(text))])[0]
		text = text[len(string(r)):]
		switch r {
		case '\n':
			screen, cells, at = append(screen, joined(cells)), nil, 0
		case '\r':
			at = 0
		default:
			if at == len(cells) {
				cells = append(cells, piece{})
			}
			cells[at] = piece{string(r), now}
			at++
		}
	}
	if len(cells) > 0 {
		screen = append(screen, joined(cells))
	}
	for len(screen) > 0 && len(screen[len(screen)-1]) == 0 {
		screen = screen[:len(screen)-1]
	}
	return screen
}

// after is the style that the numbers of ESC [ … m make of it.
func (s style) after(numbers string) style {
	for word := range strings.SplitSeq(numbers, ";") {
		switch n, _ := strconv.Atoi(word); {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 39:
			s.colour = ""
		default:
			if c, ok := colours[n]; ok {
				s.colour = c
			}
		}
	}
	return s
}

// joined puts neighbours of one style together, without the blanks at the end.
func joined(cells []piece) line {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1].text) == "" {
		cells = cells[:len(cells)-1]
	}
	var l line
	for _, c := range cells {
		if n := len(l); n > 0 && l[n-1].style == c.style {
			l[n-1].text += c.text
			continue
		}
		l = append(l, c)
	}
	return slices.Clip(l)
}
