package render

import (
	"fmt"
	"strings"
	"unicode"
)

// Colour is an SGR sequence. Source for which is used where: docs/spec/cli-juju.md §2b.
type Colour string

// The colours that there are.
const (
	plain     Colour = ""
	Bold      Colour = "39;1"
	Red       Colour = "31"
	Green     Colour = "32"
	Yellow    Colour = "33"
	magenta   Colour = "35"
	cyan      Colour = "36"
	Grey      Colour = "37"
	BrightRed Colour = "91"
	blue      Colour = "94"
	ports     Colour = "95"
)

// Paint is text in a colour.
func Paint(c Colour, text string) string {
	if c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Cell is one cell of a table.
type Cell struct {
	Text   string
	Colour Colour
	Right  bool   // aligned to the right
	more   []span // what follows Text, in colours of its own
}

// span is a part of a cell.
type span struct {
	text   string
	colour Colour
}

// width is how many characters the cell takes.
func (c Cell) width() int {
	n := len([]rune(c.Text))
	for _, s := range c.more {
		n += len([]rune(s.text))
	}
	return n
}

// render is the cell's text.
func (c Cell) render(colours bool) string {
	var b strings.Builder
	for _, s := range append([]span{{c.Text, c.Colour}}, c.more...) {
		if !colours {
			s.colour = plain
		}
		b.WriteString(Paint(s.colour, s.text))
	}
	return b.String()
}

// Table prints blocks of rows as docs/spec/cli-juju.md §2b has it: two spaces
// between columns, the last cell of a row not padded.
type Table struct {
	Colours bool // whether cells are coloured
	// Width is how many characters a line has room for: cells of words are broken between
	// these so that rows fit, if that can be; 0: none is.
	Width int
	b     strings.Builder
}

// Block prints rows as one block, after an empty line if it isn't the first.
func (t *Table) Block(rows [][]Cell) {
	if len(rows) == 0 {
		return
	}
	if t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], c.width())
		}
	}
	widths = fit(rows, widths, t.Width)
	for _, row := range rows {
		for _, line := range broken(row, widths) {
			t.row(line, widths)
		}
	}
}

// row prints cells in columns of these widths.
func (t *Table) row(cells []Cell, widths []int) {
	for i, c := range cells {
		pad := strings.Repeat(" ", max(0, widths[i]-c.width()))
		text := c.render(t.Colours)
		if c.Right {
			text, pad = pad+text, ""
		}
		t.b.WriteString(text)
		if i < len(cells)-1 {
			t.b.WriteString(pad + "  ")
		}
	}
	t.b.WriteByte('\n')
}

// String is what was printed so far.
func (t *Table) String() string { return t.b.String() }

// Printf prints what is no table.
func (t *Table) Printf(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

// line prints a line of its own, after an empty one.
func (t *Table) line(spans []span) { t.Printf("\n%s\n", Cell{more: spans}.render(t.Colours)) }

// Harmless is text of a charm without what would do something to a terminal;
// tabs stay.
func Harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return ' '
		}
		return r
	}, s)
}

// Heads is a row of headings.
func Heads(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, s := range texts {
		row[i] = Cell{Text: s, Colour: Bold}
	}
	return row
}
