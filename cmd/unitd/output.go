package main

import (
	"io"
	"os"
	"slices"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/unitd/unitd/render"
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
	b, err := render.Encode(format, v)
	if err != nil {
		return errors.Annotate(err, "cannot print the result")
	}
	if output != "" {
		return errors.Annotate(os.WriteFile(output, b, 0o644), "cannot write the result")
	}
	_, err = a.stdout.Write(b)
	return errors.Trace(err)
}

// paint colours text for w, if w is a terminal that wants colours.
func (a *app) paint(w io.Writer, c render.Colour, text string) string {
	if !colourful(w) {
		return text
	}
	return render.Paint(c, text)
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

// table prints blocks of rows, or writes them to a file if one is named.
func (a *app) table(output string, blocks ...[][]render.Cell) error {
	t := render.Table{Colours: output == "" && colourful(a.stdout)}
	for _, rows := range blocks {
		t.Block(rows)
	}
	return a.text(output, t.String())
}

// writeFile writes text to a file that a person has named.
func (a *app) writeFile(path, text string) error {
	return errors.Annotate(os.WriteFile(path, []byte(text), 0o644), "cannot write the result")
}
