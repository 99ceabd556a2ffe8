package render

import (
	"slices"
	"strings"
)

// least is how narrow a column of words may become, in characters.
const least = 10

// fit are the widths that columns have where a line has room for width characters (0: for
// all): the widest are made narrower, but none than its longest word, as nothing is broken
// within a word. So what is left may be too wide.
func fit(rows [][]Cell, widths []int, width int) []int {
	total := -2
	for _, w := range widths {
		total += w + 2
	}
	if width <= 0 || total <= width {
		return widths
	}
	widths = slices.Clone(widths)
	narrowest := make([]int, len(widths))
	for _, row := range rows {
		for i, c := range row {
			narrowest[i] = max(narrowest[i], c.narrowest())
		}
	}
	for ; total > width; total-- {
		widest := -1
		for i, w := range widths {
			if w > max(narrowest[i], least) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// narrowest is how many characters the cell takes at least: a cell in several colours isn't
// broken.
func (c Cell) narrowest() int {
	if len(c.more) > 0 {
		return c.width()
	}
	n := 0
	for _, word := range strings.Fields(c.Text) {
		n = max(n, len([]rune(word)))
	}
	return n
}

// lines are the cell's lines in a column of that width.
func (c Cell) lines(width int) []Cell {
	if c.width() <= width || len(c.more) > 0 {
		return []Cell{c}
	}
	var out []Cell
	line := ""
	for _, word := range strings.Fields(c.Text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			out = append(out, Cell{Text: line, Colour: c.Colour, Right: c.Right})
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, Cell{Text: line, Colour: c.Colour, Right: c.Right})
}

// broken is a row as the rows of its lines.
func broken(row []Cell, widths []int) [][]Cell {
	lines := make([][]Cell, len(row))
	most := 1
	for i, c := range row {
		lines[i] = c.lines(widths[i])
		most = max(most, len(lines[i]))
	}
	out := make([][]Cell, most)
	for n := range out {
		for i := range row {
			var c Cell
			if n < len(lines[i]) {
				c = lines[i][n]
			}
			out[n] = append(out[n], c)
		}
		if n > 0 { // no blanks at the end of what goes on
			for len(out[n]) > 1 && out[n][len(out[n])-1].width() == 0 {
				out[n] = out[n][:len(out[n])-1]
			}
		}
	}
	return out
}
