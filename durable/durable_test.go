package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unitd/unitd/durable"
)

// acts are what a Disk does, each with the steps that it is.
var acts = []struct {
	name  string
	steps []durable.Verb
	do    func(d durable.Disk, dir string) error
}{
	{"a directory is made once", []durable.Verb{"mkdir"}, func(d durable.Disk, dir string) error {
		return errors.Join(d.MkdirAll(dir+"/a/b", 0o700), d.MkdirAll(dir+"/a/b", 0o700))
	}},
	{"a file is made, written and synced", []durable.Verb{"create", "write", "sync", "sync"}, func(d durable.Disk, dir string) error {
		f, err := d.OpenFile(dir+"/new", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt([]byte("text"), 0)
		return errors.Join(err, f.SyncData(), d.SyncDir(dir))
	}},
	{"a file that is there is opened without a step", nil, func(d durable.Disk, dir string) error {
		f, err := d.OpenFile(dir+"/there", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		return f.Close()
	}},
	{"a file is written over", []durable.Verb{"create", "write"}, func(d durable.Disk, dir string) error {
		return d.WriteFile(dir+"/there", []byte("other"), 0o600)
	}},
	{"what is there is renamed and removed", []durable.Verb{"rename", "remove"}, func(d durable.Disk, dir string) error {
		return errors.Join(d.Rename(dir+"/there", dir+"/here"), d.RemoveAll(dir+"/here"), d.RemoveAll(dir+"/here"))
	}},
	{"links and modes", []durable.Verb{"link", "link", "own"}, func(d durable.Disk, dir string) error {
		return errors.Join(d.Link(dir+"/there", dir+"/hard"), d.Symlink("there", dir+"/soft"), d.Chmod(dir+"/there", 0o400))
	}},
}

func newDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("there"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestEachStepIsTold, and done only by whoever was told.
func TestEachStepIsTold(t *testing.T) {
	t.Parallel()
	for _, act := range acts {
		t.Run(act.name, func(t *testing.T) {
			t.Parallel()
			if err := act.do(durable.Disk{}, newDir(t)); err != nil {
				t.Errorf("with nobody told: %v", err)
			}
			var got []durable.Verb
			told := durable.Disk{Around: func(s durable.Step, _, whole func() error) error {
				got = append(got, s.Do)
				return whole()
			}}
			if err := act.do(told, newDir(t)); err != nil || !slices.Equal(got, act.steps) {
				t.Errorf("the steps were %v, %v", got, err)
			}
			refused := errors.New("refused")
			dir := newDir(t)
			none := durable.Disk{Around: func(durable.Step, func() error, func() error) error { return refused }}
			if err := act.do(none, dir); len(act.steps) > 0 && !errors.Is(err, refused) {
				t.Errorf("refused: %v", err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("what was refused was done: %v, %v", left, err)
			}
		})
	}
}

// TestAWriteCanBeTorn, and the removal of a tree.
func TestAWriteCanBeTorn(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	torn := durable.Disk{Around: func(_ durable.Step, half, whole func() error) error {
		if half != nil {
			return half()
		}
		return whole()
	}}
	if err := torn.WriteFile(dir+"/torn", []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(dir + "/torn"); string(b) != "1234" || err != nil {
		t.Errorf("it has %q, %v", b, err)
	}
	if err := torn.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}
