package machine

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/juju/errors"
)

// LogMark is a place in a log, which may be set aside and begun anew meanwhile.
type LogMark struct {
	// First tells the file from others: a digest of its first line. Empty: there was none.
	First string `json:"first,omitempty"`
	// Offset is in bytes; LogEnd: wherever the log ends.
	Offset int64 `json:"offset"`
}

// LogEnd is the offset of what is written from now on.
const LogEnd = -1

const (
	// holdTime is how long an agent waits for new lines, and holdInterval how often it
	// looks.
	holdTime     = 10 * time.Second
	holdInterval = 250 * time.Millisecond
	// linesAtMost is how many bytes of new lines are sent at once.
	linesAtMost = 512 << 10
)

// await are lines after a mark, and runs after another one, or none if there are none for a
// while; the marks in it are where to go on. No mark of runs: only lines count.
func (a *answering) await(ctx context.Context, q FilesQuestion) (news Files, err error) {
	until, runs := time.Now().Add(holdTime), q.RunsAfter
	for news.Log = *q.After; ; {
		if news.Lines, news.Log, err = newLines(filepath.Join(a.dir, logName), news.Log); err != nil {
			return news, errors.Trace(err)
		}
		if runs != nil {
			news.Ran, news.Runs, news.Missed = a.recent.after(*runs)
		}
		if len(news.Lines)+len(news.Ran) > 0 || news.Missed || q.AtOnce || time.Now().After(until) {
			return news, nil
		}
		select {
		case <-ctx.Done():
			return news, errors.Trace(ctx.Err())
		case <-time.After(holdInterval):
		}
	}
}

// newLines are lines after a mark: what is left of the file that it is in, if that was set
// aside, else of the one that is there.
func newLines(path string, after LogMark) ([]byte, LogMark, error) {
	first, size, err := firstOf(path)
	if err != nil {
		return nil, after, errors.Trace(err)
	}
	switch {
	case after.Offset < 0:
		return nil, LogMark{first, size}, nil
	case first == after.First && size < after.Offset: // it was cut
		after.Offset = 0
	case first != after.First:
		former, formerSize, err := firstOf(path + ".1")
		if err != nil {
			return nil, after, errors.Trace(err)
		}
		if after.First != "" && former == after.First && after.Offset < formerSize {
			return linesFrom(path+".1", after)
		}
		after = LogMark{First: first}
	}
	if size <= after.Offset {
		return nil, after, nil
	}
	return linesFrom(path, after)
}

func linesFrom(path string, after LogMark) ([]byte, LogMark, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, after, errors.Trace(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, after.Offset, linesAtMost))
	if err != nil {
		return nil, after, errors.Trace(err)
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole > 0 || len(text) < linesAtMost {
		after.Offset += int64(whole)
		return text[:whole], after, nil
	}
	// Of a line that is longer than what is sent at once the beginning is.
	end, err := lineEnd(f, after.Offset+linesAtMost)
	if err != nil || end == 0 {
		return nil, after, errors.Trace(err)
	}
	text[len(text)-1] = '\n'
	after.Offset = end
	return text, after, nil
}

// lineEnd is where the line ends that goes on at an offset; 0: it hasn't ended so far.
func lineEnd(f io.ReaderAt, from int64) (int64, error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, from, math.MaxInt64-from), 64<<10)
	for {
		piece, err := r.ReadSlice('\n')
		from += int64(len(piece))
		switch {
		case err == nil:
			return from, nil
		case errors.Is(err, io.EOF):
			return 0, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return 0, errors.Trace(err)
		}
	}
}

// markAt is a place in a log.
func markAt(path string, offset int64) (LogMark, error) {
	first, _, err := firstOf(path)
	return LogMark{first, offset}, errors.Trace(err)
}

// firstOf tells a log from others, and how many bytes it has; of one that isn't there, or
// has no whole line, it is empty.
func firstOf(path string) (first string, size int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, errors.Trace(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", 0, errors.Trace(err)
	}
	head := make([]byte, min(st.Size(), 1024))
	if _, err := io.ReadFull(f, head); err != nil {
		return "", 0, errors.Trace(err)
	}
	line, _, whole := bytes.Cut(head, []byte("\n"))
	if !whole && len(head) < 1024 {
		return "", 0, nil
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:8]), st.Size(), nil
}
