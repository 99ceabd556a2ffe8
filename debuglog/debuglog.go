// Package debuglog is the log of a model, as debug-log shows it: one JSON line
// for each message, appended by the agents of one machine and read by anybody.
//
//	{"time":…,"entity":"unit-shop-0","level":"INFO","module":"unit.shop/0.juju-log","message":"open"}
//
// The module of a hook's own output is "unit.<unit>.<hook>", of juju-log
// "unit.<unit>.juju-log", and of the agent "unitd". Source: docs/spec/cli-juju.md
// §2b, docs/spec/uniter-behaviour.md §2.
package debuglog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// Entry is one message.
type Entry struct {
	Time    time.Time `json:"time"`
	Entity  string    `json:"entity"` // "unit-shop-0", "machine-0"
	Level   string    `json:"level"`  // one of Levels
	Module  string    `json:"module"`
	Message string    `json:"message"`
}

// Lines are the lines of a message, of which a charm may log several at once: a
// traceback. There is at least one, and none at the end is empty.
func Lines(message string) []string {
	lines := strings.Split(strings.ReplaceAll(message, "\r\n", "\n"), "\n")
	for len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Levels are the levels from the least to the most severe.
func Levels() []string {
	return []string{"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}
}

// Log appends to a log file. It is safe for use by many goroutines.
//
// The file may be deleted, renamed or cut to nothing by others at any time: then
// a new one is begun.
type Log struct {
	mu   sync.Mutex
	path string
	disk durable.Disk
	file *durable.File
	is   os.FileInfo // of file
	size int64
	// torn: the last line of the file has no end, after a power cut or on a
	// full disk.
	torn bool
	room room
}

// Open opens the log at path for appending, and makes it, readable for its
// owner alone.
func Open(disk durable.Disk, path string) (*Log, error) {
	l := &Log{path: path, disk: disk, room: room{budget: rotateAt, ask: space}}
	if err := l.open(); err != nil {
		return nil, errors.Trace(err)
	}
	return l, nil
}

func (l *Log) open() error {
	f, err := l.disk.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot open the log")
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return errors.Annotate(err, "cannot open the log")
	}
	l.file, l.is, l.size, l.torn = f, st, st.Size(), false
	last := make([]byte, 1)
	if n, _ := f.ReadAt(last, l.size-1); n == 1 {
		l.torn = last[0] != '\n'
	}
	return nil
}

// whole is a message with all its bytes: those that aren't UTF-8 are in it as
// "\xff", where JSON would have none of them.
func whole(message string) string {
	if utf8.ValidString(message) {
		return message
	}
	var b strings.Builder
	for len(message) > 0 {
		r, n := utf8.DecodeRuneInString(message)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, message[0])
		} else {
			b.WriteString(message[:n])
		}
		message = message[n:]
	}
	return b.String()
}

// Write appends one entry. A log that can't be written to is no reason to stop
// an agent: the error is for who wants it. Of entries that are dropped in a row
// the first is an error; the log says how many there were once it can.
func (l *Log) Write(e Entry) error {
	e.Message = whole(e.Message)
	line, err := json.Marshal(e)
	if err != nil {
		return errors.Trace(err)
	}
	line = append(line, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.look(); err != nil {
		return l.drop(e, len(line), err)
	}
	var full error
	if l.room.exceeded(l.path, l.size) {
		full = l.rotate()
	}
	if err := l.append(append(l.room.notice(e), line...)); err != nil {
		return l.drop(e, len(line), err)
	}
	l.room.told()
	return errors.Trace(full)
}

// append writes whole lines.
func (l *Log) append(b []byte) error {
	if l.torn {
		b = append([]byte{'\n'}, b...)
	}
	n, err := l.file.Write(b)
	l.size += int64(n)
	l.room.written += int64(n)
	if n > 0 {
		l.torn = n < len(b)
	}
	return errors.Trace(err)
}

// drop counts an entry that couldn't be written, and is the error of it if it is
// the first one.
func (l *Log) drop(e Entry, size int, err error) error {
	if l.file == nil || l.room.drop(e, size) {
		return errors.Trace(err)
	}
	return nil
}

// Look lets go of a file that somebody has deleted or renamed, so that its space
// is free, and begins a new one. Write does so too.
func (l *Log) Look() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Trace(l.look())
}

func (l *Log) look() error {
	if l.file == nil {
		return errors.New("log is closed")
	}
	st, err := os.Stat(l.path)
	if err == nil && os.SameFile(st, l.is) {
		if st.Size() < l.size {
			l.size, l.torn = st.Size(), false // somebody has cut it
		}
		return nil
	}
	former := l.file
	if err := l.open(); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(former.Close())
}

// rotate sets the full log aside and begins a new one. Where it can't, the full
// one is written to on, and tried again once it has grown as much again.
func (l *Log) rotate() error {
	lost, _ := os.Stat(l.path + ".1")
	err := l.disk.Rename(l.path, l.path+".1")
	if err == nil {
		former := l.file
		if err = l.open(); err == nil {
			former.Close()
			if lost != nil {
				l.room.overwritten(lost.Size())
			}
			return nil
		}
		_ = l.disk.Rename(l.path+".1", l.path) // else it goes on as the former one
	}
	l.size = 0
	return errors.Annotate(err, "cannot set the full log aside")
}

// Close closes the file; what is written afterwards is lost.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return errors.Trace(err)
}

// Filter says which entries to show. The zero value shows all.
type Filter struct {
	// Include has entities ("unit-shop-0", "shop/0", "machine-0") or patterns
	// with *; empty: all. Exclude likewise, and wins.
	Include, Exclude []string
	// IncludeModule and ExcludeModule have module names; a name stands for all
	// modules below it.
	IncludeModule, ExcludeModule []string
	// Level is the least severe level to show; empty: all.
	Level string
}

// Match says whether the filter lets the entry through.
func (f Filter) Match(e Entry) bool {
	return matchEntity(f.Include, e.Entity, true) && !matchEntity(f.Exclude, e.Entity, false) &&
		matchModule(f.IncludeModule, e.Module, true) && !matchModule(f.ExcludeModule, e.Module, false) &&
		slices.Index(Levels(), e.Level) >= slices.Index(Levels(), f.Level)
}

func matchEntity(patterns []string, entity string, none bool) bool {
	for _, p := range patterns {
		p = tag(p)
		if ok, err := path.Match(p, entity); ok && err == nil {
			return true
		}
		// An application's name stands for all its units.
		if rest, ok := strings.CutPrefix(entity, "unit-"+p+"-"); ok && !strings.Contains(rest, "-") {
			return true
		}
	}
	return len(patterns) == 0 && none
}

// tag is the entity of who is named as a unit, be it by a pattern: "shop/0" or
// "shop/*". Other names are entities already.
func tag(name string) string {
	if app, num, ok := strings.Cut(name, "/"); ok {
		return "unit-" + app + "-" + num
	}
	return name
}

func matchModule(modules []string, module string, none bool) bool {
	for _, m := range modules {
		if m == module || strings.HasPrefix(module, m+".") {
			return true
		}
	}
	return len(modules) == 0 && none
}

// Reader reads a log from its beginning, and what is appended later when asked
// again.
type Reader struct {
	file    *os.File
	buf     *bufio.Reader
	partial []byte
}

// NewReader opens the log at path for reading; errors.NotFound where there is
// none yet.
func NewReader(path string) (*Reader, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, errors.NotFoundf("log %s", path)
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the log")
	}
	return &Reader{file: f, buf: bufio.NewReaderSize(f, 64<<10)}, nil
}

// Next returns the next whole entry; io.EOF where there is none yet: ask again
// once the file has grown. Lines that aren't entries are passed over.
func (r *Reader) Next() (Entry, error) {
	for {
		chunk, err := r.buf.ReadBytes('\n')
		r.partial = append(r.partial, chunk...)
		if err != nil {
			if err == io.EOF {
				return Entry{}, io.EOF
			}
			return Entry{}, errors.Annotate(err, "cannot read the log")
		}
		var e Entry
		bad := json.Unmarshal(bytes.TrimSpace(r.partial), &e)
		r.partial = r.partial[:0]
		if bad == nil {
			return e, nil
		}
	}
}

// at says whether the reader reads that file, and hasn't read more of it than
// there is.
func (r *Reader) at(is os.FileInfo) bool {
	st, err := r.file.Stat()
	if err != nil || !os.SameFile(st, is) {
		return false
	}
	pos, err := r.file.Seek(0, io.SeekCurrent)
	return err == nil && pos <= is.Size()
}

// Close closes the file.
func (r *Reader) Close() error { return errors.Trace(r.file.Close()) }
