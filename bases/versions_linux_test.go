package bases_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/bases"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v: %s", err, errors.ErrorStack(err))
	}
}

func nobody(string) bool { return false }

// TestAnUpdateIsAnotherVersion, and the former one stays as it was until nobody uses it.
func TestAnUpdateIsAnotherVersion(t *testing.T) {
	t.Parallel()
	root := system(t)
	s := bases.Of(t.TempDir())
	one, err := s.Add(t.Context(), "debian@12", root, bases.How{})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(root, "new"), nil, 0o644))
	two, err := s.Update(t.Context(), "debian@12", bases.How{})
	must(t, err)
	if two.Root == one.Root || two.Source != root || two.Version != 2 || two.Former != 1 {
		t.Fatalf("%+v after %+v", two, one)
	}
	for at, want := range map[string]bool{one.Root: false, two.Root: true} {
		if _, err := os.Stat(filepath.Join(at, "new")); (err == nil) != want {
			t.Errorf("%s has what is new: %v", at, err)
		}
	}
	if found, err := s.Find("debian@12"); err != nil || found != two {
		t.Errorf("found %+v, %v", found, err)
	}
	// A machine runs on it; an application is on it; nobody is.
	f, err := os.Open(one.Root)
	must(t, err)
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_SH))
	if gone, err := s.Prune(nobody); err != nil || len(gone) > 0 {
		t.Errorf("%+v, %v", gone, err)
	}
	f.Close()
	if gone, err := s.Prune(func(r string) bool { return r == one.Root }); err != nil || len(gone) > 0 {
		t.Errorf("%+v, %v", gone, err)
	}
	if gone, err := s.Prune(nobody); err != nil || len(gone) != 1 || gone[0].Root != one.Root {
		t.Errorf("%+v, %v", gone, err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir, "debian@12")); err != nil || len(left) != 1 || left[0].Name() != "2" {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := s.Update(t.Context(), "debian@11", bases.How{}); !errors.Is(err, errors.NotFound) {
		t.Error(err)
	}
	must(t, os.RemoveAll(root))
	if _, err := s.Update(t.Context(), "debian@12", bases.How{}); !errors.Is(err, errors.NotFound) || !strings.Contains(err.Error(), "isn't there any more") {
		t.Error(err)
	}
}

// TestABaseOfAnEarlierUnitdGoesOn: it has a root and a record, and no versions.
func TestABaseOfAnEarlierUnitdGoesOn(t *testing.T) {
	t.Parallel()
	root := system(t)
	s := bases.Of(t.TempDir())
	dir := filepath.Join(s.Dir, "debian@12")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, exec.Command("cp", "-a", root, filepath.Join(dir, "root")).Run())
	must(t, os.WriteFile(filepath.Join(dir, "base.json"), []byte(`{"name":"debian@12","root":"","source":"`+root+`","made":"2026-01-02T03:04:05Z"}`), 0o644))
	b, err := s.Find("debian@12")
	if err != nil || b.Root != filepath.Join(dir, "root") || b.Version != 0 || b.Source != root {
		t.Fatalf("%+v, %v", b, err)
	}
	two, err := s.Update(t.Context(), "debian@12", bases.How{})
	if err != nil || two.Version != 1 || two.Former != 1 {
		t.Fatalf("%+v, %v", two, err)
	}
	if gone, err := s.Prune(nobody); err != nil || len(gone) != 1 || gone[0].Root != b.Root {
		t.Errorf("%+v, %v", gone, err)
	}
	if all, err := s.List(); err != nil || len(all) != 1 || all[0].Root != two.Root {
		t.Errorf("%+v, %v", all, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
	must(t, s.Remove("debian@12"))
	if left, err := os.ReadDir(s.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestAnUpdateThatFailsOrIsInterruptedLeavesTheBase, and nothing of itself.
func TestAnUpdateThatFailsOrIsInterruptedLeavesTheBase(t *testing.T) {
	root := system(t)
	must(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), []byte("Package: a\n"), 0o644))
	bin := t.TempDir()
	script := "#!/bin/sh\n[ ! -e " + bin + "/wait ] || { echo >" + bin + "/begun; exec sleep 1000; }\n[ ! -e " + bin + "/fail ] || exit 1\ncp -a " + root + "/. $4\n"
	must(t, os.WriteFile(filepath.Join(bin, "debootstrap"), []byte(script), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s := bases.Of(t.TempDir())
	asked := bases.How{Asked: bases.Asked{Mirror: "http://m.example.com"}}
	one, err := s.Fetch(t.Context(), "debian@12", asked)
	if err != nil || !strings.HasPrefix(one.Digest, "sha256:") {
		t.Fatalf("%+v, %v", one, err)
	}
	check := func(what string) {
		t.Helper()
		if b, err := s.Find("debian@12"); err != nil || b != one {
			t.Errorf("%s: %+v, %v", what, b, err)
		}
		if left, _ := filepath.Glob(filepath.Join(s.Dir, ".new-*")); len(left) > 0 {
			t.Errorf("%s: %v is left", what, left)
		}
	}
	must(t, os.WriteFile(filepath.Join(bin, "fail"), nil, 0o644))
	if _, err := s.Update(t.Context(), "debian@12", bases.How{}); err == nil {
		t.Error("no error")
	}
	check("failed")
	must(t, os.Remove(filepath.Join(bin, "fail")))
	must(t, exec.Command("mkfifo", filepath.Join(bin, "begun")).Run())
	must(t, os.WriteFile(filepath.Join(bin, "wait"), nil, 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(filepath.Join(bin, "begun"))
		cancel()
	}()
	if _, err := s.Update(ctx, "debian@12", bases.How{}); err == nil {
		t.Error("no error")
	}
	check("interrupted")
	must(t, os.Remove(filepath.Join(bin, "wait")))
	must(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), []byte("Package: b\n"), 0o644))
	two, err := s.Update(t.Context(), "debian@12", bases.How{})
	if err != nil || two.Version != 2 || two.Digest == one.Digest || two.Source != "debootstrap bookworm from http://m.example.com" {
		t.Errorf("%+v, %v", two, err)
	}
}
