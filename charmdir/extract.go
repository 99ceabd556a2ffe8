package charmdir

import (
	"archive/zip"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// unpack makes the tree of the charm in the archive in dir, which is there and empty.
// step does each thing that changes the disk. names are the charm's files and links,
// sorted. The error is NotValid for what may not be in a charm.
func unpack(ctx context.Context, disk durable.Disk, step stepper, archive, dir string) (names []string, err error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer z.Close()
	if names, err = checkEntries(z.File); err != nil {
		return nil, errors.Trace(err)
	}
	x := &extractor{disk: disk, step: step, left: maxTotal, made: map[string]bool{dir: true}}
	if c, err := read(z); err == nil { // what the metadata lacks is no matter of the files
		x.hooks = hooksOf(c.Charm)
	}
	for _, f := range z.File {
		if err := ctx.Err(); err != nil {
			return nil, errors.Trace(err)
		}
		if err := x.extract(f, dir); err != nil {
			return nil, errors.Annotatef(err, "entry %q", f.Name)
		}
	}
	return names, nil
}

// stepper does a step of a deployment, by its name.
type stepper func(name string, do func() error) error

// extractor unpacks entries, with what is left of the size that all may have
// together: what the archive says of its sizes isn't believed.
type extractor struct {
	disk  durable.Disk
	step  stepper
	left  int64
	hooks hookNames
	made  map[string]bool // directories that are there
	// buffer is what each file is copied with; nil: there was none yet.
	buffer []byte
}

func (x *extractor) extract(f *zip.File, dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	return x.step("write "+f.Name, func() error {
		if err := x.makeDir(filepath.Dir(path)); err != nil {
			return errors.Trace(err)
		}
		switch f.Mode().Type() {
		case fs.ModeDir:
			return errors.Trace(x.makeDir(path))
		case fs.ModeSymlink:
			target, err := linkTarget(f)
			if err != nil {
				return errors.Trace(err)
			}
			return errors.Trace(x.disk.Symlink(target, path))
		}
		return x.write(f, path)
	})
}

// makeDir makes a directory with those above it, unless it has made it before.
func (x *extractor) makeDir(path string) error {
	if x.made[path] {
		return nil
	}
	if err := x.makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	// Two names may be one directory, where case doesn't matter.
	if err := x.disk.Mkdir(path, 0o755); err != nil && !os.IsExist(err) {
		return errors.Trace(err)
	}
	x.made[path] = true
	return nil
}

// onlyWriter keeps io.CopyBuffer from looking for another way, with a buffer for each
// file.
type onlyWriter struct{ io.Writer }

func (x *extractor) write(f *zip.File, path string) error {
	in, err := f.Open()
	if err != nil {
		return errors.Trace(err)
	}
	defer in.Close()
	out, err := x.disk.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, x.hooks.mode(f.Name, f.Mode()))
	if err != nil {
		return errors.Trace(err)
	}
	if x.buffer == nil {
		x.buffer = make([]byte, 32<<10)
	}
	n, err := io.CopyBuffer(onlyWriter{out}, io.LimitReader(in, min(x.left, maxFile)+1), x.buffer)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if x.left -= n; err == nil && (x.left < 0 || n > maxFile) {
		err = errSize(f.Name)
	}
	return errors.Trace(err)
}
