package memory

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/replay"
)

// maxChanges bounds what a hook may make of files to be remembered, in bytes.
const maxChanges = 64 << 20

// store keeps the contents of files that a hook has changed, for apply. The error says for people
// why it can't be remembered.
func (m *Memory) store(dir string, names replay.Names, all []replay.Change) error {
	size := 0
	for _, c := range all {
		if names.In([]byte(c.Target)) {
			return errors.Errorf("it links to where its unit is: %s", c.Path)
		}
		if c.Sum == "" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, c.Path))
		if err != nil {
			return errors.Trace(err)
		}
		if size += len(b); size > maxChanges {
			return errors.New("it writes too much")
		}
		if names.In(b) {
			return errors.Errorf("it writes into %s what is of use in one world alone, such as where its unit is", c.Path)
		}
		m.put(filepath.Join(contentsDir, c.Sum), b)
	}
	return nil
}

// apply makes of a directory what a hook would have made of it.
func (m *Memory) apply(dir string, all []replay.Change) error {
	// What is below a directory goes before it, and comes after it.
	for _, c := range slices.Backward(all) {
		if c.Mode == 0 {
			if err := os.Remove(filepath.Join(dir, c.Path)); err != nil && !os.IsNotExist(err) {
				if err = os.RemoveAll(filepath.Join(dir, c.Path)); err != nil { // byte code is left in it
					return errors.Trace(err)
				}
			}
		}
	}
	for _, c := range all {
		if c.Mode != 0 {
			if err := m.applyOne(filepath.Join(dir, c.Path), c); err != nil {
				return errors.Trace(err)
			}
		}
	}
	return nil
}

func (m *Memory) applyOne(path string, c replay.Change) error {
	// What is of another kind gives way.
	if info, err := os.Lstat(path); err == nil && (info.IsDir() != (c.Mode&syscall.S_IFMT == syscall.S_IFDIR) || c.Mode&syscall.S_IFMT == syscall.S_IFLNK) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	switch c.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
			return err
		}
		return syscall.Chmod(path, c.Mode&0o7777)
	case syscall.S_IFLNK:
		return os.Symlink(c.Target, path)
	}
	b, err := os.ReadFile(filepath.Join(m.Dir, contentsDir, c.Sum))
	if err != nil {
		return err
	}
	return replace(path, b, c.Mode&0o7777)
}

// replace has a file with that content in the place of what is there.
func replace(path string, content []byte, mode uint32) error {
	next := path + ".unitd-next"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	if err := syscall.Chmod(next, mode); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// compiled is a file in which Python keeps what it has compiled of another one.
type compiled struct {
	Path      string `json:"path"`
	Source    string `json:"source"`
	SourceSum string `json:"source-sum"`
	Sum       string `json:"sum"`
}

// The head of such a file: a number of the version, flags, and of its source the time, in
// seconds, and the size.
const codeHead = 16

// sourceOf is what a file was compiled of; empty: nobody knows.
func sourceOf(path string) string {
	dir, name := filepath.Split(path)
	module, rest, ok := strings.Cut(name, ".")
	if filepath.Base(dir) != "__pycache__" || !ok || strings.Count(rest, ".") != 1 {
		return ""
	}
	return filepath.Join(filepath.Dir(filepath.Clean(dir)), module+".py")
}

// keepCode keeps what the interpreter has compiled of a charm, once.
func (m *Memory) keepCode(p machine.Program, s *sight) {
	list := filepath.Join(codeDir, p.Charm)
	if _, err := os.Stat(filepath.Join(m.Dir, list)); err == nil || len(s.code) == 0 {
		return
	}
	var all []compiled
	for _, path := range s.code {
		source := sourceOf(path)
		f, ok := s.files[source]
		b, err := os.ReadFile(filepath.Join(p.Dir, path))
		if !ok || err != nil || len(b) < codeHead || !bytes.Equal(b[4:8], make([]byte, 4)) {
			continue // by the flags it doesn't go by the time
		}
		sum := replay.Key(string(b))
		m.put(filepath.Join(contentsDir, sum), b)
		all = append(all, compiled{Path: path, Source: source, SourceSum: f.sum, Sum: sum})
	}
	if b, err := json.Marshal(all); err == nil {
		m.put(list, b)
	}
}

// giveCode gives a unit what the interpreter would compile for its hooks, if it has nothing
// of the kind: that takes longer than most of them. It is of the same sources, and the
// time in each file is made that of the source.
func (m *Memory) giveCode(p machine.Program, s *sight) {
	b, err := os.ReadFile(filepath.Join(m.Dir, codeDir, p.Charm))
	var all []compiled
	if err != nil || len(s.code) > 0 || json.Unmarshal(b, &all) != nil {
		return
	}
	for _, c := range all {
		source, err := os.Lstat(filepath.Join(p.Dir, c.Source))
		if err != nil || s.files[c.Source].sum != c.SourceSum {
			continue
		}
		b, err := os.ReadFile(filepath.Join(m.Dir, contentsDir, c.Sum))
		if err != nil || len(b) < codeHead {
			continue
		}
		binary.LittleEndian.PutUint32(b[8:], uint32(source.ModTime().Unix()))
		path := filepath.Join(p.Dir, c.Path)
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			continue
		}
		_ = os.WriteFile(path, b, 0o644) // else it is compiled
	}
}
