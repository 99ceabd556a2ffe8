package terminal

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/term"
)

// Size is how large the terminal is that a stream is, in characters; false: it is none.
func Size(stream any) (columns, rows int, ok bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	return columns, rows, err == nil
}

// Raw has a terminal pass on each key as it is typed, and calls resized whenever its size may
// have changed, until back is called.
func Raw(in *os.File, resized func()) (back func(), err error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, errors.Trace(err)
	}
	changed, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-over:
				return
			case <-changed:
				resized()
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(over)
		_ = term.Restore(int(in.Fd()), was)
	}, nil
}
