package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/terminal"
)

// output is what a command prints.
type output struct {
	Streams
	failed atomic.Pointer[error] // the first of printf
	told   []string              // what records has said
	secret bool                  // files are for their owner alone
}

// records says on stderr that what a person asks for is kept and shown again, and that
// nothing comes of it: once for each such thing, however often it is asked for. what
// names it without an article, as "model constraints". Source:
// docs/spec/juju-clients.md §1.
func (o *output) records(what string) {
	if slices.Contains(o.told, what) {
		return
	}
	o.told = append(o.told, what)
	o.note("unitd records %s; it has no effect here", what)
}

// ignores is records for what isn't even kept.
func (o *output) ignores(what string) {
	if !slices.Contains(o.told, what) {
		o.told = append(o.told, what)
		o.note("unitd ignores %s; it has no effect here and isn't kept", what)
	}
}

// formats makes the command refuse, as wrong usage, any other --format.
func formats(cmd *cobra.Command, known ...string) {
	flag := cmd.Flags().Lookup("format")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if v := flag.Value.String(); !slices.Contains(known, v) {
			return Usagef("invalid value %q for option --format: unknown format %q", v, v)
		}
		return nil
	}
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

// write prints a value as json or yaml, to a file if one is named.
func (o *output) write(format, output string, v any) error {
	b, err := render.Encode(format, v)
	if err != nil {
		return errors.Annotate(err, "cannot print the result")
	}
	if output != "" {
		return o.writeFile(output, string(b))
	}
	_, err = o.Out.Write(b)
	return errors.Trace(err)
}

// paint colours text for w, if w is a terminal that wants colours.
func (o *output) paint(w io.Writer, c render.Colour, text string) string {
	if !terminal.Colourful(w) {
		return text
	}
	return render.Paint(c, text)
}

// table prints blocks of rows, or writes them to a file if one is named.
func (o *output) table(output string, blocks ...[][]render.Cell) error {
	t := render.Table{Colours: output == "" && terminal.Colourful(o.Out)}
	for _, rows := range blocks {
		t.Block(rows)
	}
	return o.text(output, t.String())
}

// writeFile writes text to a file that a person has named.
func (o *output) writeFile(path, text string) error {
	mode := os.FileMode(0o644)
	if o.secret {
		mode = 0o600
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			if err := os.Chmod(path, mode); err != nil { // it may have been there, open to others
				return errors.Annotate(err, "cannot write the result")
			}
		}
	}
	return errors.Annotate(os.WriteFile(path, []byte(text), mode), "cannot write the result")
}

// text prints text, or writes it to a file if one is named.
func (o *output) text(output, text string) error {
	if output != "" {
		return o.writeFile(output, text)
	}
	o.printf("%s", text)
	return nil
}

// failure prints one of several errors.
func (o *output) failure(err error) {
	fmt.Fprintf(o.Err, "%s %s\n", o.paint(o.Err, render.BrightRed, "ERROR"), err)
}

// printf prints a part of the result. That it can't is the command's error in
// the end.
func (o *output) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(o.Out, format, args...); err != nil {
		err = errors.Annotate(err, "cannot print the result")
		o.failed.CompareAndSwap(nil, &err)
	}
}

// printer prints what a library writes as a part of the result.
type printer struct{ *output }

// Write is part of io.Writer.
func (p printer) Write(b []byte) (int, error) {
	p.printf("%s", b)
	return len(b), nil
}

// lineWidth is how wide the lines of a table may be: as wide as the terminal that it is for.
// What goes to a file (output) or a pipe has lines of any width, as programs read it.
func (o *output) lineWidth(output string) int {
	if output != "" || !terminal.Is(o.Out) {
		return 0
	}
	return terminal.Width(o.Out)
}
