package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels: of a character, of a line, and of what is around them.
const (
	charWidth  = 7.9
	lineHeight = 18
	margin     = 18
	bar        = 34
)

// draw writes the screen as a window, in the font that the reader has for code.
func draw(w io.Writer, screen []line) {
	columns := 0
	for _, l := range screen {
		n := 0
		for _, p := range l {
			n += utf8.RuneCountInString(p.text)
		}
		columns = max(columns, n)
	}
	width, height := int(float64(columns)*charWidth)+2*margin, len(screen)*lineHeight+bar+margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(w, "<title>A terminal session</title>\n")
	fmt.Fprintf(w, `<rect width="%d" height="%d" rx="8" fill="#1b2029"/>`+"\n", width, height)
	for i, c := range []string{"#f07178", "#e6c07b", "#8fd18a"} {
		fmt.Fprintf(w, `<circle cx="%d" cy="17" r="5" fill="%s"/>`+"\n", margin+4+i*18, c)
	}
	fmt.Fprintln(w, `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#d7dce5" xml:space="preserve">`)
	for i, l := range screen {
		if len(l) == 0 {
			continue
		}
		fmt.Fprintf(w, `<text x="%d" y="%d">`, margin, bar+(i+1)*lineHeight-5)
		column := 0
		for _, p := range l {
			// Each piece says where it begins, so that columns hold in any font.
			fmt.Fprintf(w, `<tspan x="%.1f"%s>%s</tspan>`, margin+float64(column)*charWidth, p.style.attributes(), escaped(p.text))
			column += utf8.RuneCountInString(p.text)
		}
		fmt.Fprintln(w, `</text>`)
	}
	fmt.Fprintln(w, "</g>\n</svg>")
}

func (s style) attributes() string {
	a := ""
	if s.colour != "" {
		a += fmt.Sprintf(` fill="%s"`, s.colour)
	}
	if s.bold {
		a += ` font-weight="bold"`
	}
	return a
}

// escaped keeps blanks: what shows the picture may not know xml:space.
func escaped(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return ""
	}
	return strings.ReplaceAll(b.String(), " ", "\u00a0")
}
