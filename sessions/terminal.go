package sessions

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/term"
)

// SizeOf is the size of a person's terminal; nil: input and output aren't one.
func SizeOf(in, out any) *Size {
	tty, shown := file(in), file(out)
	if tty == nil || shown == nil {
		return nil
	}
	columns, rows, err := term.GetSize(int(shown.Fd()))
	if err != nil {
		return nil
	}
	return &Size{Rows: uint16(rows), Columns: uint16(columns)} //nolint:gosec // as the system has them
}

// file is a stream that is a terminal.
func file(stream any) *os.File {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// takeTerminal has the person's terminal pass on all keys, and its size when that changes,
// until back is called; without a terminal it does nothing.
func (c Call) takeTerminal(to *frames) (back func(), err error) {
	tty := file(c.In)
	if c.Terminal == nil || tty == nil {
		return func() {}, nil
	}
	was, err := term.MakeRaw(int(tty.Fd()))
	if err != nil {
		return nil, errors.Annotate(err, "cannot use the terminal")
	}
	changed, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-over:
				return
			case <-changed:
				if size := SizeOf(c.In, c.Out); size != nil {
					_ = to.writeJSON(resized, size)
				}
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(over)
		_ = term.Restore(int(tty.Fd()), was)
	}, nil
}
