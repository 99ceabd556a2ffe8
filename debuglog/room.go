package debuglog

import (
	"encoding/json"
	"fmt"
	"syscall"
	"time"
)

// A log may take 128 MiB: it is set aside as "<path>.1" at 64 MiB, in place of
// the one before. Where little is free on its disk it is set aside at 1 MiB
// already, so that what is free stays free for the store and the journals, which
// need it to go on: a log that is written to without end takes 2 MiB then. What
// is dropped by that, the log says.
const (
	rotateAt = 64 << 20
	scarceAt = 1 << 20
	// lookEvery is after how many bytes the free space is asked for anew.
	lookEvery = 64 << 10
)

// Reserve is how much of a disk logs leave free: a tenth of it, at least 16 MiB
// and at most 256 MiB, but no more than a quarter.
func Reserve(size uint64) uint64 { return min(max(size/10, 16<<20), 256<<20, size/4) }

// room decides how much a log may take, and counts what of it was dropped.
type room struct {
	// budget is at how many bytes a log is set aside.
	budget int64
	// ask tells the free space and the size of the disk that a file is on.
	ask     func(path string) (free, size uint64, err error)
	written int64 // since the free space was asked for
	asked   bool
	scarce  bool

	lines, bytes int64     // that couldn't be written
	since        time.Time // when the first of them was due
	older        int64     // bytes of older lines that gave way to new ones
}

// exceeded says whether a log of a size in bytes is to be set aside.
func (r *room) exceeded(path string, size int64) bool {
	if size > r.budget {
		return true
	}
	if size <= scarceAt {
		return false
	}
	if !r.asked || r.written >= lookEvery || r.lines > 0 {
		free, disk, err := r.ask(path)
		r.asked, r.written, r.scarce = true, 0, err == nil && free < Reserve(disk)
	}
	return r.scarce
}

// Full says whether a log of a size in bytes, at a path, is to be set aside, for other logs
// that are to take as little as a model's.
func Full(path string, size int64) bool {
	r := room{budget: rotateAt, ask: space}
	return r.exceeded(path, size)
}

// drop counts an entry that couldn't be written, and says whether it is the first.
func (r *room) drop(e Entry, size int) bool {
	if r.lines == 0 {
		r.since = e.Time
	}
	r.lines++
	r.bytes += int64(size)
	return r.lines == 1
}

// overwritten counts what had been set aside, and has given way.
func (r *room) overwritten(bytes int64) { r.older += bytes }

// notice is the line that says what was dropped; nil if nothing was.
func (r *room) notice(e Entry) []byte {
	text := ""
	if r.lines > 0 {
		text = fmt.Sprintf("%d lines (%s) since %s could not be written and were dropped", r.lines, amount(r.bytes), r.since.UTC().Format(time.TimeOnly))
	}
	if r.older > 0 {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("older lines (%s) were dropped", amount(r.older))
		if r.scarce {
			text += ", as the disk has little left, which is kept free"
		}
	}
	if text == "" {
		return nil
	}
	b, err := json.Marshal(Entry{Time: e.Time, Entity: e.Entity, Level: "WARNING", Module: "unitd.log", Message: text})
	if err != nil {
		return nil
	}
	return append(b, '\n')
}

// told forgets what was dropped: the log says it.
func (r *room) told() { r.lines, r.bytes, r.older = 0, 0, 0 }

// amount is a number of bytes for people.
func amount(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// space is what is free, for whoever isn't root, on the disk that a file is on,
// and how large that is.
func space(path string) (free, size uint64, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, 0, err
	}
	return st.Bavail * uint64(st.Bsize), st.Blocks * uint64(st.Bsize), nil
}
