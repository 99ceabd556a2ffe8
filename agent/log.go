package agent

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agentlog"
	"github.com/unitd/unitd/durable"
)

// NewLog is a log of text that has one line for everything.
func NewLog(w io.Writer) *slog.Logger { return NewLogBy(w, nil) }

// NewLogBy is NewLog with times of another clock; nil: the host's.
func NewLogBy(w io.Writer, now func() time.Time) *slog.Logger {
	return slog.New(agentlog.NewHandler(w, agentlog.Text, now))
}

// ownLog is the log of what this process does for the agent.
func (h *Host) ownLog() *slog.Logger {
	if h.log == nil {
		return NewLog(h.stderr)
	}
	return h.log
}

// openLog has this process log as an agent that was asked to log so, until the end is called.
// file is what it prints to if it was started in the background; nil: it wasn't.
func (h *Host) openLog(o agentlog.Options) (file *agentlog.File, end func(), err error) {
	if o, err = o.Check(os.Getenv); err != nil {
		return nil, nil, Wrongf("%v", err)
	}
	dir, err := DataDir()
	if err != nil {
		return nil, nil, err
	}
	file = agentlog.Own(durable.Disk{}, filepath.Join(dir, agentLogFile))
	log, err := o.Open(h.stderr, file, os.Getenv)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	h.log = log.Logger
	return file, func() { h.log = nil; log.Close() }, nil
}
