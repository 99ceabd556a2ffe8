package oci

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// asMade is what unpack gives an implied directory.
var asMade = attributes{Mode: 0o755}

// implied are the directories of a stack of layers, top first, that show other
// attributes than they are to have; and those that they are in.
func implied(ctx context.Context, layers []*layer) (map[string]attributes, error) {
	out := map[string]attributes{}
	asked := map[string]bool{}
	for _, l := range layers {
		for _, name := range l.Implied {
			if asked[name] {
				continue
			}
			asked[name] = true
			if err := ctx.Err(); err != nil {
				return nil, errors.Trace(err)
			}
			want, differs, err := effective(layers, name)
			if err != nil {
				return nil, errors.Trace(err)
			}
			if differs {
				out[name] = want
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		for dir := name; dir != ""; {
			dir = parentOf(dir)
			if _, ok := out[dir]; ok {
				continue
			}
			want, _, err := effective(layers, dir)
			if err != nil {
				return nil, errors.Trace(err)
			}
			out[dir] = want
		}
	}
	return out, nil
}

func parentOf(name string) string { return strings.TrimSuffix(path.Dir("/" + name)[1:], "/") }

// effective are the attributes that a directory is to have: those of the uppermost
// layer that says it. differs: overlayfs shows others, those of the uppermost layer
// that has it.
func effective(layers []*layer, name string) (want attributes, differs bool, err error) {
	var shown *attributes
	for _, l := range layers {
		st, hidden, err := look(l, name)
		if err != nil {
			return attributes{}, false, errors.Trace(err)
		}
		if st != nil {
			got := attributesOf(st)
			if shown == nil {
				shown = &got
			}
			if _, isImplied := slices.BinarySearch(l.Implied, name); !isImplied {
				return got, got != *shown, nil
			}
		}
		if hidden {
			break
		}
	}
	return asMade, false, nil
}

func attributesOf(st fs.FileInfo) attributes {
	s := st.Sys().(*syscall.Stat_t)
	return attributes{Mode: s.Mode & 0o7777, UID: s.Uid, GID: s.Gid}
}

// look is a layer's directory, nil if it has none; hidden says that nobody sees those
// of the layers below.
func look(l *layer, name string) (st fs.FileInfo, hidden bool, err error) {
	at := filepath.Join(l.dir, treeDir)
	st, err = os.Lstat(at)
	if err != nil {
		return nil, false, errors.Trace(err)
	}
	if name == "" {
		return st, false, nil
	}
	for _, part := range strings.Split(name, "/") {
		at = filepath.Join(at, part)
		st, err = os.Lstat(at)
		switch {
		case os.IsNotExist(err):
			return nil, hidden, nil
		case err != nil:
			return nil, false, errors.Trace(err)
		case !st.IsDir():
			return nil, true, nil
		}
		hidden = hidden || isOpaque(at)
	}
	return st, hidden, nil
}

func isOpaque(dir string) bool {
	var b [1]byte
	for _, f := range []Form{Root, Single} {
		if n, err := unix.Getxattr(dir, f.opaque(), b[:]); err == nil && n == 1 && b[0] == 'y' {
			return true
		}
	}
	return false
}

// writeImplied writes a layer of nothing but directories.
func writeImplied(dir string, all map[string]attributes, form Form) (contents, error) {
	if _, ok := all[""]; !ok {
		all[""] = asMade
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names[1:] { // a directory comes before those in it
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return contents{}, errors.Trace(err)
		}
	}
	for _, name := range slices.Backward(names) {
		at, want := filepath.Join(dir, name), all[name]
		if form != Single {
			if err := os.Lchown(at, int(want.UID), int(want.GID)); err != nil {
				return contents{}, errors.Trace(err)
			}
		}
		if err := unix.Chmod(at, want.Mode); err != nil {
			return contents{}, errors.Trace(err)
		}
	}
	return contents{Entries: len(names)}, nil
}
