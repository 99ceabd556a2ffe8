package debuglog

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
	"github.com/juju/errors"
)

// ReadAll passes the entries of the log at path to fn, oldest first, those that
// were set aside when it was full before the others. A log that isn't there is
// an empty one. An error of fn ends it and is returned.
func ReadAll(path string, fn func(Entry) error) error {
	for _, p := range []string{path + ".1", path} {
		if err := readOne(p, fn); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func readOne(path string, fn func(Entry) error) error {
	r, err := NewReader(path)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	defer r.Close()
	return r.drain(fn)
}

// drain passes on what there is now.
func (r *Reader) drain(fn func(Entry) error) error {
	for {
		e, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// Follow passes the entries of the log at path to fn, first all that there are
// (as ReadAll), then each as it is written, until ctx ends or fn fails. caughtUp,
// which may be nil, is called in between. The log needn't be there yet.
func Follow(ctx context.Context, path string, fn func(Entry) error, caughtUp func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return errors.Annotate(err, "cannot follow the log")
	}
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		return errors.Annotate(err, "cannot follow the log")
	}
	defer watch.Close()
	if err := watch.Add(filepath.Dir(path)); err != nil {
		return errors.Annotate(err, "cannot follow the log")
	}
	f := &follower{path: path, fn: fn}
	defer f.close()
	if err := readOne(path+".1", fn); err != nil {
		return errors.Trace(err)
	}
	if err := f.read(false); err != nil {
		return errors.Trace(err)
	}
	if caughtUp != nil {
		if err := caughtUp(); err != nil {
			return errors.Trace(err)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case err := <-watch.Errors:
			return errors.Annotate(err, "cannot follow the log")
		case e := <-watch.Events:
			if e.Name != path {
				continue
			}
			if err := f.read(f.taken()); err != nil {
				return errors.Trace(err)
			}
		}
	}
}

// follower reads a log that may be set aside and begun anew.
type follower struct {
	path   string
	fn     func(Entry) error
	reader *Reader
}

// taken says whether somebody has deleted, renamed or cut the file.
func (f *follower) taken() bool {
	if f.reader == nil {
		return false
	}
	st, err := os.Stat(f.path)
	return err != nil || !f.reader.at(st)
}

// read passes on what is new; anew says that the file is another one than it was.
func (f *follower) read(anew bool) error {
	if f.reader != nil {
		if err := f.reader.drain(f.fn); err != nil {
			return err
		}
	}
	if f.reader != nil && !anew {
		return nil
	}
	f.close()
	r, err := NewReader(f.path)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	f.reader = r
	return r.drain(f.fn)
}

func (f *follower) close() {
	if f.reader != nil {
		f.reader.Close()
		f.reader = nil
	}
}
