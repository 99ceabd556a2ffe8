package agentlog

import (
	"cmp"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/journald"
)

// Where a log goes.
const (
	Stderr  = "stderr"
	Journal = "journald"
)

// Variables of the environment say what options don't, also for agents that commands start.
const (
	FormatVariable = "UNITD_LOG_FORMAT"
	ToVariable     = "UNITD_LOG_TO"
	// SocketVariable is where tests have a journal of their own.
	SocketVariable = "UNITD_TEST_JOURNAL"
)

// Options say which form lines have, and where they go. What is empty is said by the
// environment, or is the default: text on stderr, or the journal where systemd has connected
// stderr with it.
type Options struct{ Format, To string }

// Log is a log as the options want it.
type Log struct {
	*slog.Logger
	journal *journald.Socket
}

// Close lets go of the journal.
func (l Log) Close() {
	if l.journal != nil {
		_ = l.journal.Close()
	}
}

// Check fills in what the environment says. Errors: NotValid, for people.
func (o Options) Check(env func(string) string) (Options, error) {
	if o.Format != "" && o.To == Journal {
		return o, errors.NewNotValid(nil, "--log-format is for lines, and the journal has fields: leave out --log-format, or --log-to journald")
	}
	var err error
	if o.Format, err = one(o.Format, "--log-format", FormatVariable, env, Formats()...); err != nil {
		return o, err
	}
	o.To, err = one(o.To, "--log-to", ToVariable, env, Stderr, Journal)
	return o, err
}

// one is what an option says, or else a variable, if it is one of the values, or empty.
func one(value, flag, variable string, env func(string) string, values ...string) (string, error) {
	name := flag + " "
	if value == "" {
		value, name = env(variable), variable+"="
	}
	if value != "" && !slices.Contains(values, value) {
		return "", errors.NewNotValid(nil, name+value+": give one of "+strings.Join(values, ", "))
	}
	return value, nil
}

// Open begins the log of options that were checked, for a process that prints to stderr. own
// is the file that it was begun with in the background; nil: none. Errors: NotFound, if the
// journal was asked for and there is none.
func (o Options) Open(stderr io.Writer, own *File, env func(string) string) (Log, error) {
	format := cmp.Or(o.Format, Text)
	file, ok := stderr.(*os.File)
	stream := ok && journald.IsStream(file, env(journald.StreamVariable))
	lines := NewHandler(stderr, format, nil)
	switch {
	case stream: // so that levels aren't lost
		lines = newLevelled(stderr, func(w io.Writer) slog.Handler { return NewHandler(w, format, nil) })
	case own != nil:
		lines = turning{lines, own}
	}
	if o.To != Journal && (o.To == Stderr || o.Format != "" || !stream) {
		return Log{Logger: slog.New(lines)}, nil
	}
	socket, err := journald.Open(cmp.Or(env(SocketVariable), journald.Path))
	switch {
	case err == nil:
		return Log{slog.New(journald.Handler{Socket: socket, Identifier: "unitd", Else: lines}), socket}, nil
	case o.To != Journal:
		return Log{Logger: slog.New(lines)}, nil
	}
	return Log{}, errors.NewNotFound(nil, "cannot log to journald: "+err.Error()+"; --log-to stderr prints the log instead")
}
