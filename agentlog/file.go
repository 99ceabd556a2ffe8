package agentlog

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/durable"
)

// File is the file that this process prints to, its standard output and error: a process that
// was begun in the background with it. When it is as full as a model's log may be, it is set
// aside as "<path>.1", in place of the one before, and a new one is begun, to which this
// process then prints whatever it prints. It is safe for use by many goroutines.
//
// A line that is written meanwhile is in the one or in the other. A process that is killed
// between two steps leaves the former file as "<path>.1", and perhaps no other one: who begins
// the next process in the background makes that.
type File struct {
	path string
	disk durable.Disk
	fds  []int // of this process; the last is where the log is written to
	full func(path string, size int64) bool

	mu    sync.Mutex
	tried int64 // the size at which it couldn't be set aside
}

// Own is the file at a path if this process prints its standard error to it; nil: it doesn't.
func Own(disk durable.Disk, path string) *File {
	f := &File{path: path, disk: disk, fds: []int{syscall.Stdout, syscall.Stderr}, full: debuglog.Full}
	if _, ok := f.size(); !ok {
		return nil
	}
	return f
}

// size is that of the file at the path; false: it isn't what this process prints to.
func (f *File) size() (int64, bool) {
	var own, there syscall.Stat_t
	if syscall.Fstat(f.fds[len(f.fds)-1], &own) != nil || syscall.Stat(f.path, &there) != nil {
		return 0, false
	}
	return own.Size, own.Dev == there.Dev && own.Ino == there.Ino
}

// Reopen has this process print to the file that now is at the path, which is made if there is
// none: somebody has renamed or removed the former one.
func (f *File) Reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begin()
}

func (f *File) begin() error {
	file, err := f.disk.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot begin a log")
	}
	defer file.Close()
	return errors.Annotate(file.Over(f.fds...), "cannot begin a log")
}

// SetAside sets the file aside if it is full. The error says that it is full and goes on; it is
// tried again once it has grown as much again.
func (f *File) SetAside() (done Aside, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	size, own := f.size()
	if size < f.tried {
		f.tried = 0 // somebody has cut it
	}
	if !own || !f.full(f.path, size-f.tried) {
		return Aside{}, nil
	}
	lost, _ := os.Stat(f.path + ".1")
	if err := f.disk.Rename(f.path, f.path+".1"); err != nil {
		f.tried = size
		return Aside{}, errors.Annotate(err, "cannot set the full log aside")
	}
	if err := f.begin(); err != nil {
		_ = f.disk.Rename(f.path+".1", f.path) // else it goes on as the former one
		f.tried = size
		return Aside{}, errors.Trace(err)
	}
	f.tried = 0
	done = Aside{To: f.path + ".1", Bytes: size}
	if lost != nil {
		done.Dropped = lost.Size()
	}
	return done, nil
}

// Aside says what was set aside, where to, and how many bytes of older lines were dropped by
// that. The zero value: nothing.
type Aside struct {
	To             string
	Bytes, Dropped int64
}

// turning is a handler that writes to a file that it sets aside when that is full.
type turning struct {
	slog.Handler
	file *File
}

// WithAttrs is part of slog.Handler.
func (t turning) WithAttrs(attrs []slog.Attr) slog.Handler {
	return turning{t.Handler.WithAttrs(attrs), t.file}
}

// WithGroup is part of slog.Handler.
func (t turning) WithGroup(name string) slog.Handler {
	return turning{t.Handler.WithGroup(name), t.file}
}

// Handle is part of slog.Handler.
func (t turning) Handle(ctx context.Context, r slog.Record) error {
	done, err := t.file.SetAside()
	say := func(level slog.Level, message string, attrs ...slog.Attr) {
		note := slog.NewRecord(r.Time, level, message, 0)
		note.AddAttrs(attrs...)
		_ = t.Handler.Handle(ctx, note)
	}
	switch {
	case err != nil:
		say(slog.LevelWarn, "the log is full and goes on", slog.Any("err", err))
	case done.Dropped > 0:
		say(slog.LevelWarn, "the full log was set aside, and older lines were dropped", slog.String("as", done.To), slog.Int64("bytes", done.Bytes), slog.Int64("dropped", done.Dropped))
	case done.To != "":
		say(slog.LevelInfo, "the full log was set aside", slog.String("as", done.To), slog.Int64("bytes", done.Bytes))
	}
	return t.Handler.Handle(ctx, r)
}
