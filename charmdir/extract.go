package charmdir

import (
	"archive/zip"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/juju/errors"
)

// extractor unpacks entries, with what is left of the size that all may have
// together: what the archive says of its sizes isn't believed.
type extractor struct {
	deployer *Deployer
	left     int64
	hooks    hookNames
}

func (x *extractor) extract(f *zip.File, staging string) error {
	path := filepath.Join(staging, filepath.FromSlash(f.Name))
	disk := x.deployer.disk
	return x.deployer.step("write "+f.Name, func() error {
		if err := disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return errors.Trace(err)
		}
		switch f.Mode().Type() {
		case fs.ModeDir:
			return errors.Trace(disk.MkdirAll(path, 0o755))
		case fs.ModeSymlink:
			target, err := linkTarget(f)
			if err != nil {
				return errors.Trace(err)
			}
			return errors.Trace(disk.Symlink(target, path))
		}
		return x.write(f, path)
	})
}

func (x *extractor) write(f *zip.File, path string) error {
	in, err := f.Open()
	if err != nil {
		return errors.Trace(err)
	}
	defer in.Close()
	out, err := x.deployer.disk.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, x.hooks.mode(f.Name, f.Mode()))
	if err != nil {
		return errors.Trace(err)
	}
	n, err := io.Copy(out, io.LimitReader(in, min(x.left, maxFile)+1))
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if x.left -= n; err == nil && (x.left < 0 || n > maxFile) {
		err = errSize(f.Name)
	}
	return errors.Trace(err)
}
