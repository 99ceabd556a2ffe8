package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// File is an open file whose writes are steps.
type File struct {
	disk Disk
	file *os.File
}

// OpenFile is os.OpenFile. It is a step where it makes a file, or empties one.
func (d Disk) OpenFile(path string, flag int, perm fs.FileMode) (*File, error) {
	f := &File{disk: d}
	open := func() (err error) {
		c := Call{Do: Create, Path: path, Flag: flag, Mode: perm}
		f.file, err = c.Perform()
		if d.Beyond != nil && errors.Is(err, fs.ErrPermission) {
			f.file, err = d.Beyond(c)
		}
		return err
	}
	var err error
	if makes(path, flag) {
		err = d.step(Create, path, nil, open)
	} else {
		err = open()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// makes says whether to open a file makes it, or empties it.
func makes(path string, flag int) bool {
	if flag&os.O_TRUNC != 0 || flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0 {
		return true
	}
	if flag&os.O_CREATE == 0 {
		return false
	}
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// CreateTemp is os.CreateTemp.
func (d Disk) CreateTemp(dir, pattern string) (*File, error) {
	f := &File{disk: d}
	err := d.step(Create, filepath.Join(dir, pattern), nil, func() (err error) {
		f.file, err = os.CreateTemp(dir, pattern)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// WriteFile is os.WriteFile.
func (d Disk) WriteFile(path string, b []byte, perm fs.FileMode) error {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// ReplaceFile writes a file so that it is the former one or the new one, whole,
// whenever the machine loses its power. A file beside it, path and ".new", may be
// left behind, which the next one to replace it writes over.
func (d Disk) ReplaceFile(path string, b []byte, perm fs.FileMode) error {
	f, err := d.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.SyncData(), f.Close()); err != nil {
		return err
	}
	if err := d.Rename(path+".new", path); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(path))
}

// Write is part of io.Writer.
func (f *File) Write(b []byte) (n int, err error) {
	write := func(b []byte) func() error {
		return func() (err error) {
			n, err = f.file.Write(b)
			return err
		}
	}
	err = f.disk.step(Write, f.Name(), write(b[:len(b)/2]), write(b))
	return n, err
}

// WriteAt is part of io.WriterAt.
func (f *File) WriteAt(b []byte, off int64) (n int, err error) {
	write := func(b []byte) func() error {
		return func() (err error) {
			n, err = f.file.WriteAt(b, off)
			return err
		}
	}
	err = f.disk.step(Write, f.Name(), write(b[:len(b)/2]), write(b))
	return n, err
}

// CloneFrom has the file, which is empty, share the bytes of another one: what is
// written to either of them later is its own alone. false, and no error, where the file
// system can't share; the file is empty still.
func (f *File) CloneFrom(from *os.File) (done bool, err error) {
	half := func() error {
		st, err := from.Stat()
		if err != nil {
			return err
		}
		_, err = io.CopyN(f.file, from, st.Size()/2)
		return err
	}
	err = f.disk.step(Write, f.Name(), half, func() (err error) {
		done, err = clone(f.file, from)
		return err
	})
	return done, err
}

// Truncate is that of os.File.
func (f *File) Truncate(size int64) error {
	return f.disk.step(Write, f.Name(), nil, func() error { return f.file.Truncate(size) })
}

// SyncData makes content and size durable, and not the times, whose write is
// spared where the system can tell the two apart.
func (f *File) SyncData() error {
	return f.disk.step(Sync, f.Name(), nil, func() error { return syncData(f.file) })
}

// ReadAt is part of io.ReaderAt.
func (f *File) ReadAt(b []byte, off int64) (int, error) { return f.file.ReadAt(b, off) }

// Stat is that of os.File.
func (f *File) Stat() (fs.FileInfo, error) { return f.file.Stat() }

// Chmod is that of os.File: it changes what was opened, whatever has its name by now.
func (f *File) Chmod(mode fs.FileMode) error {
	return f.disk.step(Own, f.Name(), nil, func() error { return f.file.Chmod(mode) })
}

// Chown is that of os.File.
func (f *File) Chown(uid, gid int) error {
	return f.disk.step(Own, f.Name(), nil, func() error { return f.file.Chown(uid, gid) })
}

// Over has each of these descriptors of this process be the file's, in place of what it was.
// Who writes by it meanwhile writes to the one or to the other. It is a step for each.
func (f *File) Over(fds ...int) error {
	for _, fd := range fds {
		err := f.disk.step(Over, f.Name(), nil, func() error { return duplicate(int(f.file.Fd()), fd) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Name is the path that the file was opened by.
func (f *File) Name() string { return f.file.Name() }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
