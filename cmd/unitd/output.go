package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"gopkg.in/yaml.v3"
)

// formats makes the command refuse, as wrong usage, any other --format.
func (a *app) formats(cmd *cobra.Command, known ...string) {
	flag := cmd.Flags().Lookup("format")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if v := flag.Value.String(); !slices.Contains(known, v) {
			return usagef("invalid value %q for option --format: unknown format %q", v, v)
		}
		return nil
	}
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

// write prints a value as json or yaml, to a file if one is named.
func (a *app) write(format, output string, v any) error {
	var b []byte
	var err error
	if format == "json" {
		b, err = json.Marshal(v)
		b = append(b, '\n')
	} else {
		b, err = indented(v)
	}
	if err != nil {
		return errors.Annotate(err, "cannot print the result")
	}
	if output != "" {
		return errors.Annotate(os.WriteFile(output, b, 0o644), "cannot write the result")
	}
	_, err = a.stdout.Write(b)
	return errors.Trace(err)
}

// indented is YAML with an indent of two, as the field's tools write it.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return nil, errors.Trace(err)
	}
	return b.Bytes(), errors.Trace(e.Close())
}

// colour is an SGR sequence. Source for which is used where: docs/spec/cli-juju.md §2b.
type colour string

const (
	plain     colour = ""
	bold      colour = "39;1"
	red       colour = "31"
	green     colour = "32"
	yellow    colour = "33"
	magenta   colour = "35"
	cyan      colour = "36"
	grey      colour = "37"
	brightRed colour = "91"
	blue      colour = "94"
	ports     colour = "95"
)

// paint colours text for w, if w is a terminal that wants colours.
func (a *app) paint(w io.Writer, c colour, text string) string {
	if !colourful(w) {
		return text
	}
	return sgr(c, text)
}

func sgr(c colour, text string) string {
	if c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// isTerminal says whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colourful says whether w is a terminal that wants colours.
func colourful(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// cell is one cell of a table.
type cell struct {
	text   string
	colour colour
	more   []span // what follows text, in colours of its own
	right  bool   // aligned to the right
}

// span is a part of a cell.
type span struct {
	text   string
	colour colour
}

// width is how many characters the cell takes.
func (c cell) width() int {
	n := len([]rune(c.text))
	for _, s := range c.more {
		n += len([]rune(s.text))
	}
	return n
}

// render is the cell's text.
func (c cell) render(colours bool) string {
	var b strings.Builder
	for _, s := range append([]span{{c.text, c.colour}}, c.more...) {
		if !colours {
			s.colour = plain
		}
		b.WriteString(sgr(s.colour, s.text))
	}
	return b.String()
}

// table prints blocks of rows as docs/spec/cli-juju.md §2b has it: two spaces
// between columns, the last cell of a row not padded.
type table struct {
	colours bool
	b       strings.Builder
}

// block prints rows as one block, after an empty line if it isn't the first.
func (t *table) block(rows [][]cell) {
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
	for _, row := range rows {
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-c.width())
			text := c.render(t.colours)
			if c.right {
				text, pad = pad+text, ""
			}
			t.b.WriteString(text)
			if i < len(row)-1 {
				t.b.WriteString(pad + "  ")
			}
		}
		t.b.WriteByte('\n')
	}
}

// harmless is text of a charm without what would do something to a terminal;
// tabs stay.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return ' '
		}
		return r
	}, s)
}

// heads is a row of headings.
func heads(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, s := range texts {
		row[i] = cell{text: s, colour: bold}
	}
	return row
}

// writeFile writes text to a file that a person has named.
func (a *app) writeFile(path, text string) error {
	return errors.Annotate(os.WriteFile(path, []byte(text), 0o644), "cannot write the result")
}
