package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/opsstate"
	"github.com/unitd/unitd/replay"
)

// errUnfit is of a charm directory that can't be remembered.
const errUnfit = errors.ConstError("the charm directory can't be remembered")

// The bounds of what is looked at.
const (
	maxFiles = 20_000
	maxFile  = 32 << 20
)

// file is what there is at a path of a charm directory.
type file struct {
	mode   uint32
	sum    string // of the content
	like   string // of what it means
	target string
	// mentions has a bit for each of the words that are in it.
	mentions uint8
}

// words are variables that few charms know: where none of a charm's files mentions one, its
// value is no part of what a hook starts with.
var words = []string{"UNITD_RUN_NUMBER", "UNITD_CAUSE", "UNITD_WORK"}

// sight is what a charm directory has at one time.
type sight struct {
	files    map[string]file
	mentions uint8
	// code are the files in which Python keeps what it has compiled, which are no part of
	// the rest.
	code []string
}

// mentioned says whether a file mentions one of the words.
func (s *sight) mentioned(word string) bool {
	i := slices.Index(words, word)
	return i >= 0 && s.mentions&(1<<i) != 0
}

// digest is short for all of it.
func (s *sight) digest() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		f := s.files[name]
		fmt.Fprintf(sum, "%q %o %s %q\n", name, f.mode, f.like, f.target)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// looker looks at the charm directory of a unit time and again: what hasn't changed isn't
// read again.
type looker struct {
	memory *Memory
	seen   map[string]seenFile
}

type seenFile struct {
	file
	stat stamp
	at   time.Time
}

// stamp is by what a file is known to be the one that was read.
type stamp struct {
	inode             uint64
	size              int64
	modified, changed int64
}

// steady is how old the last change of a file has to be for its stamp to tell it from later
// ones: the kernel's clock for files goes in steps.
const steady = 25 * time.Millisecond

// look looks at a directory. Nobody changes it meanwhile.
func (l *looker) look(dir string) (*sight, error) {
	s := &sight{files: map[string]file{}}
	seen := make(map[string]seenFile, len(l.seen))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := path[len(dir)+1:]
		switch {
		case strings.HasPrefix(name, ".unitd-"): // the agent's own
			return nil
		case isCode(name):
			if !d.IsDir() {
				s.code = append(s.code, name)
			}
			return nil
		case len(seen) == maxFiles:
			return errors.WithType(errors.Errorf("it has more than %d files", maxFiles), errUnfit)
		}
		one, err := l.one(path, name, d)
		if err != nil {
			return err
		}
		s.files[name], seen[name] = one.file, one
		s.mentions |= one.mentions
		return nil
	})
	l.seen = seen
	return s, errors.Trace(err)
}

// isCode says whether a path is one where Python keeps what it has compiled: with it the same
// happens as without, only sooner.
func isCode(name string) bool {
	return strings.HasSuffix(name, ".pyc") || name == "__pycache__" || strings.HasSuffix(name, "/__pycache__")
}

func (l *looker) one(path, name string, d fs.DirEntry) (seenFile, error) {
	info, err := d.Info()
	if err != nil {
		return seenFile{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return seenFile{}, errors.WithType(errors.New("nobody can tell its files apart"), errUnfit)
	}
	now := stampOf(st)
	if was, ok := l.seen[name]; ok && was.stat == now && was.mode == uint32(st.Mode) && was.at.UnixNano()-now.changed > int64(steady) {
		return was, nil
	}
	one := seenFile{file: file{mode: uint32(st.Mode)}, stat: now, at: time.Now()}
	switch {
	case d.IsDir():
	case d.Type() == fs.ModeSymlink:
		one.target, err = os.Readlink(path)
	case d.Type() != 0:
		return one, errors.WithType(errors.Errorf("%s is no file", name), errUnfit)
	case info.Size() > maxFile:
		return one, errors.WithType(errors.Errorf("%s is too large", name), errUnfit)
	default:
		err = l.read(path, name, &one)
	}
	return one, err
}

func (l *looker) read(path, name string, one *seenFile) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	one.sum = hex.EncodeToString(sum[:])
	one.like = one.sum
	if filepath.Base(name) == opsstate.File {
		one.like = l.memory.meaning(one.sum, b)
	}
	for i, word := range words {
		if bytes.Contains(b, []byte(word)) {
			one.mentions |= 1 << i
		}
	}
	return nil
}

// meaning is the same for stored states of Ops that mean the same.
func (m *Memory) meaning(sum string, content []byte) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if like, ok := m.likes[sum]; ok {
		return like
	}
	path := filepath.Join(likesDir, sum)
	b, err := os.ReadFile(filepath.Join(m.Dir, path))
	like := string(b)
	if err != nil {
		if like, err = opsstate.Digest(content); err != nil {
			like = sum // it is what it is
		}
		m.put(path, []byte(like))
	}
	if m.likes == nil {
		m.likes = map[string]string{}
	}
	m.likes[sum] = like
	return like
}

// changes are what has become of a directory, in the order of the paths.
func changes(before, after *sight) []replay.Change {
	var all []replay.Change
	names := slices.Collect(maps.Keys(after.files))
	for name := range before.files {
		if _, there := after.files[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, is := before.files[name], after.files[name]
		if was == is {
			continue
		}
		c := replay.Change{Path: name, Mode: is.mode, Sum: is.sum, Target: is.target}
		if is.like != is.sum {
			c.Like = is.like
		}
		all = append(all, c)
	}
	return all
}
