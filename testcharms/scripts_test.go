package testcharms_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
	"github.com/unitd/unitd/testcharms"
)

// TestScriptsBesideTheCharms runs those in their folders "tests", as their
// authors would.
func TestScriptsBesideTheCharms(t *testing.T) {
	t.Parallel()
	var files []string
	charms := 0
	for _, name := range names(t) {
		found, err := script.Find(filepath.Join(name, "tests"))
		if err != nil {
			continue // it has none
		}
		charms++
		files = append(files, found...)
	}
	if charms < 5 {
		t.Fatalf("only %d charms have scripts: %v", charms, files)
	}
	script.RunFiles(t, script.Params{Files: files, Unitd: unitd(t), Isolate: model.IsolateOff})
}

// TestScriptsBesideACharmAreHarmlessInIt: they are part of the charm, as any
// file, and no hook of it.
func TestScriptsBesideACharmAreHarmlessInIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := testcharms.Copy(t, "tracer")
	// Even one whose name is a hook's, and which could be run.
	if err := os.WriteFile(filepath.Join(dir, "tests", "install"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.deploy(dir, 1)
	w.wantStatus("tracer/0", "active")
	w.settle()
	want := "install\nring-relation-created ring:0\nleader-elected\nconfig-changed\nstart\n"
	if got := w.file("tracer/0", "trace.log"); got != want {
		t.Errorf("trace.log:\n%swant:\n%s", got, want)
	}
	found := 0
	w.must(filepath.WalkDir(filepath.Join(w.charmDir("tracer/0"), "tests"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found++
		}
		return err
	}))
	if found < 2 {
		t.Errorf("the unit's charm has %d files of tests", found)
	}
}
