package machine

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// setAside is what a file's name gets when it is full, and another one begins.
const setAside = ".1"

// namesOf are the files of a model's directory that patterns name. What isn't the log, a
// history or a recording is nobody's business.
func namesOf(dir string, patterns []string) ([]string, error) {
	var all []string
	for _, pattern := range patterns {
		folder, _ := path.Split(pattern)
		if folder = strings.TrimSuffix(folder, "/"); !slices.Contains([]string{"", "history", "recordings"}, folder) {
			return nil, errors.NotValidf("a file %q", pattern)
		}
		names, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return nil, errors.NotValidf("a file %q", pattern)
		}
		for _, name := range names {
			if folder != "" || name == logName || name == logName+setAside {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// readFiles reads the ends of files of a model's directory, or of what comes before a mark in them.
// Links aren't followed.
func readFiles(dir string, names []string, before map[string]LogMark, most int64) (Files, error) {
	files := Files{Files: map[string][]byte{}}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		text, begin, size, err := readEnd(path, before[name], most)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been set aside
		}
		if err != nil {
			return files, errors.Trace(err)
		}
		if text == nil {
			continue
		}
		files.Files[name] = text
		if begin.Offset > 0 {
			files.cutAt(name, begin)
		}
		if name == logName {
			if files.Log, err = markAt(path, size); err != nil {
				return files, errors.Trace(err)
			}
		}
	}
	return files, nil
}

// logName is the log of a model; see LogPath.
const logName = "debug.log"

// readEnd is the end of a file, or of what comes before a mark in it, in whole lines, where that begins,
// and how many bytes the file has; nil: it is none that can be read so, or another one than the mark's.
func readEnd(name string, before LogMark, most int64) (text []byte, begin LogMark, size int64, err error) {
	st, err := os.Lstat(name)
	gone := before.Offset > 0 && errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone || err == nil && !st.Mode().IsRegular() {
		return nil, begin, 0, errors.Trace(err)
	}
	first := ""
	if !gone {
		if first, _, err = firstOf(name); err != nil {
			return nil, begin, 0, errors.Trace(err)
		}
	}
	if before.Offset > 0 && first != before.First {
		if strings.HasSuffix(name, setAside) {
			return nil, begin, 0, nil
		}
		return readEnd(name+setAside, before, most) // it may have that name by now
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, begin, 0, errors.Trace(err)
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return nil, begin, 0, errors.Trace(err)
	}
	size = st.Size()
	end := size
	if before.Offset > 0 {
		end = min(end, before.Offset)
	}
	text, offset, err := wholeLines(f, max(0, end-most), end)
	return text, LogMark{first, offset}, size, errors.Trace(err)
}

// wholeLines are those of a file between two places, and where they begin.
func wholeLines(f *os.File, from, to int64) (text []byte, begin int64, err error) {
	if begin = from; from > 0 {
		begin-- // to see whether a line begins there
	}
	if text, err = io.ReadAll(io.NewSectionReader(f, begin, to-begin)); err != nil {
		return nil, 0, errors.Trace(err)
	}
	if from > 0 {
		var cut []byte
		cut, text, _ = bytes.Cut(text, []byte("\n"))
		begin += int64(len(cut)) + 1
	}
	return text[:bytes.LastIndexByte(text, '\n')+1], begin, nil
}
