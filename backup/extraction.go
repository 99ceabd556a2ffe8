package backup

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/juju/errors"
)

// extraction reads the entries of a backup in the order that they must have: what it
// is, the store, files, the end.
type extraction struct {
	tar    *tar.Reader
	digest *digest
	to     sink
	info   Info
	// head is the entry that is being read; nil: there is none any more.
	head *tar.Header
	// seen are the entries of the data directory, and whether each is a directory.
	seen map[string]bool
}

// next goes on to the next entry.
func (x *extraction) next() error {
	h, err := x.tar.Next()
	if err == io.EOF {
		x.head = nil
		return nil
	}
	if err != nil {
		return damaged("%v", err)
	}
	x.head = h
	if h.Name != endName {
		x.digest.entry(h)
	}
	return nil
}

// Read reads the content of the entry.
func (x *extraction) Read(b []byte) (int, error) {
	n, err := x.tar.Read(b)
	_, _ = x.digest.sum.Write(b[:n])
	if err != nil && err != io.EOF {
		err = damaged("%v", err)
	}
	return n, err
}

// json reads an entry of that name.
func (x *extraction) json(name string, v any) error {
	switch {
	case x.head == nil:
		return damaged("its end is missing")
	case x.head.Name != name || x.head.Typeflag != tar.TypeReg || x.head.Size > maxEntry:
		return damaged("%.100q isn't what belongs here", x.head.Name)
	}
	var from io.Reader = x
	if name == endName {
		from = x.tar
	}
	b, err := io.ReadAll(from)
	if err != nil {
		return damaged("%v", err)
	}
	if json.Unmarshal(b, v) != nil {
		return damaged("%s can't be read", name)
	}
	return nil
}

func (x *extraction) all() error {
	if err := x.next(); err != nil {
		return err
	}
	if err := x.json(infoName, &x.info); err != nil {
		return err
	}
	if x.info.Format < 1 || x.info.Format > Format {
		return damaged("it says that it has format %d", x.info.Format)
	}
	if x.to.info != nil {
		if err := x.to.info(x.info); err != nil {
			return errors.Trace(err)
		}
	}
	if err := x.next(); err != nil {
		return err
	}
	if err := x.store(); err != nil {
		return errors.Trace(err)
	}
	x.seen = map[string]bool{}
	for x.head != nil && strings.HasPrefix(x.head.Name, dataName) {
		if err := x.file(); err != nil {
			return errors.Trace(err)
		}
		if err := x.next(); err != nil {
			return err
		}
	}
	want := x.digest.end()
	var got end
	if err := x.json(endName, &got); err != nil {
		return err
	}
	if got.Entries != want.Entries || got.SHA256 != want.SHA256 {
		return damaged("its digest isn't that of what it has")
	}
	for _, name := range got.Void {
		if !x.seen[name] {
			return damaged("%.100q isn't in it", name)
		}
	}
	if err := x.next(); err != nil {
		return err
	}
	if x.head != nil {
		return damaged("there is something after its end")
	}
	if x.to.void != nil {
		return errors.Trace(x.to.void(got.Void))
	}
	return nil
}

// store hands on the lines of the store, of all entries that have some.
func (x *extraction) store() error {
	s := &storeReader{x: x}
	if err := s.enter(); err != nil {
		return err
	}
	if x.to.store != nil {
		if err := x.to.store(s); err != nil {
			return errors.Trace(err)
		}
	}
	if _, err := io.Copy(io.Discard, s); err != nil {
		return errors.Trace(err)
	}
	if s.n == 0 {
		return damaged("the store is missing")
	}
	return nil
}

// storeReader reads one entry of the store after the other.
type storeReader struct {
	x    *extraction
	n    int
	over bool
}

// enter sees whether the entry is the next one of the store.
func (s *storeReader) enter() error {
	h := s.x.head
	if s.over = h == nil || !strings.HasPrefix(h.Name, storeName); s.over {
		return nil
	}
	if s.n++; h.Name != fmt.Sprintf("%s%08d", storeName, s.n) || h.Typeflag != tar.TypeReg {
		return damaged("a part of the store is missing")
	}
	return nil
}

// Read is part of io.Reader.
func (s *storeReader) Read(b []byte) (int, error) {
	for !s.over {
		n, err := s.x.Read(b)
		switch {
		case err != nil && err != io.EOF:
			return n, err
		case n > 0:
			return n, nil // of an end it says again
		case err == nil:
			continue
		}
		if err := s.x.next(); err != nil {
			return 0, err
		}
		if err := s.enter(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

// file hands on an entry of the data directory.
func (x *extraction) file() error {
	name := strings.TrimSuffix(strings.TrimPrefix(x.head.Name, dataName), "/")
	kind := x.head.Typeflag
	if !clean(name) || x.met(name) || kind != tar.TypeReg && kind != tar.TypeDir && kind != tar.TypeSymlink {
		return damaged("%.100q is no file of a data directory", name)
	}
	// What it is in was there before, as a directory: so nothing leads elsewhere.
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		if dir, known := x.seen[name[:i]]; !known || !dir {
			return damaged("%.100q isn't in a directory", name)
		}
	}
	x.seen[name] = kind == tar.TypeDir
	if x.to.file != nil {
		if err := x.to.file(x.head, name, x); err != nil {
			return errors.Trace(err)
		}
	}
	_, err := io.Copy(io.Discard, x)
	return errors.Trace(err)
}

func (x *extraction) met(name string) bool {
	_, met := x.seen[name]
	return met
}
