package sessions

import (
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/terminal"
)

// SizeOf is the size of a person's terminal; nil: input and output aren't one.
func SizeOf(in, out any) *Size {
	if !terminal.Is(in) || !terminal.Is(out) {
		return nil
	}
	columns, rows, ok := terminal.Size(out)
	if !ok {
		return nil
	}
	return &Size{Rows: uint16(rows), Columns: uint16(columns)} //nolint:gosec // as the system has them
}

// takeTerminal has the person's terminal pass on all keys, and its size when that changes,
// until back is called; without a terminal it does nothing.
func (c Call) takeTerminal(to *frames) (back func(), err error) {
	tty, ok := c.In.(*os.File)
	if c.Terminal == nil || !ok || !terminal.Is(tty) {
		return func() {}, nil
	}
	back, err = terminal.Raw(tty, func() {
		if size := SizeOf(c.In, c.Out); size != nil {
			_ = to.writeJSON(resized, size)
		}
	})
	return back, errors.Annotate(err, "cannot use the terminal")
}
