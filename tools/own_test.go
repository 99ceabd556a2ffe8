package tools

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ownDir is a directory of tools with files of its own, that was there before,
// and the client whose copy it has.
func ownDir(t testing.TB) (*Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "unit", "tools")
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return newOwnDir(t, path)
}

// newOwnDir is ownDir at a path, where nothing need be.
func newOwnDir(t testing.TB, path string) (*Dir, string) {
	t.Helper()
	dir := t.TempDir()
	client := filepath.Join(dir, "it's a client")
	if err := os.WriteFile(client, bytes.Repeat([]byte("program"), 20_000), 0o755); err != nil {
		t.Fatal(err)
	}
	d := NewOwn(client, filepath.Join(dir, "out'side")).Dir(path)
	if _, err := d.Mend(); err != nil {
		t.Fatal(err)
	}
	return d, client
}

// settle has a directory known by its times.
func settle(t testing.TB, d *Dir) {
	t.Helper()
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(d.path, past, past); err != nil {
		t.Fatal(err)
	}
	mend(t, d)
	for i := range d.own { // whose times of change nobody can set
		f := &d.own[i]
		now, err := look(filepath.Join(d.path, f.name))
		if err != nil {
			t.Fatal(err)
		}
		f.known = now
	}
}

// sameFiles checks that each tool leads to what the client has, and that those for
// the outside are the script; and nothing else is there.
func sameFiles(t *testing.T, d *Dir, client string) {
	t.Helper()
	want, err := os.ReadFile(client)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{filepath.Base(client)}
	for _, tool := range Table() {
		names = append(names, tool.Name)
	}
	for _, name := range append(slices.Clone(names), Outside()...) {
		got, err := os.ReadFile(filepath.Join(d.path, name))
		if slices.Contains(Outside(), name) {
			want = []byte(caller(filepath.Join(filepath.Dir(client), "out'side")))
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %.20q, %v", name, got, err)
		}
		if st, err := os.Stat(filepath.Join(d.path, name)); err != nil || st.Mode() != 0o755 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	entries, err := os.ReadDir(d.path)
	if err != nil || len(entries) != len(names)+len(Outside()) {
		t.Errorf("it has %v, %v", entries, err)
	}
}

func TestWhatWritesThroughAToolReachesTheUnitsCopyAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(t *testing.T, path string)
		mended []string
	}{
		"it is written to":      {func(t *testing.T, p string) { overwrite(t, p+"/config-get", os.O_TRUNC) }, []string{"it's a client"}},
		"its length stays":      {func(t *testing.T, p string) { overwrite(t, p+"/config-get", 0) }, []string{"it's a client"}},
		"the outside's":         {func(t *testing.T, p string) { overwrite(t, p+"/juju-run", os.O_TRUNC) }, []string{"juju-exec"}},
		"both":                  {func(t *testing.T, p string) { overwrite(t, p+"/juju-run", 0); overwrite(t, p+"/is-leader", 0) }, []string{"it's a client", "juju-exec"}},
		"nobody may run it":     {func(t *testing.T, p string) { chmod(t, p+"/is-leader") }, []string{"it's a client"}},
		"it is removed":         {func(t *testing.T, p string) { remove(t, p, "it's a client") }, []string{"it's a client"}},
		"a link is in place":    {func(t *testing.T, p string) { remove(t, p, "juju-exec"); symlink(t, p+"/juju-exec") }, []string{"juju-exec"}},
		"a directory is":        {func(t *testing.T, p string) { remove(t, p, "juju-exec"); mkdir(t, p+"/juju-exec/x") }, []string{"juju-exec"}},
		"only its times change": {func(t *testing.T, p string) { touch(t, p+"/is-leader") }, nil},
		"nothing is":            {func(*testing.T, string) {}, nil},
	} {
		for when, prepare := range map[string]func(t *testing.T) (*Dir, string){
			"long after it was made": func(t *testing.T) (*Dir, string) { d, client := ownDir(t); settle(t, d); return d, client },
			"at once":                func(t *testing.T) (*Dir, string) { return ownDir(t) },
			"at once, in a new one":  func(t *testing.T) (*Dir, string) { return newOwnDir(t, filepath.Join(t.TempDir(), "tools")) },
		} {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				d, client := prepare(t)
				c.damage(t, d.path)
				mend(t, d, c.mended...)
				sameFiles(t, d, client)
				mend(t, d)
			})
		}
	}
}

func TestOwnToolsThatNobodyTouchesAreNotRead(t *testing.T) {
	t.Parallel()
	d, client := ownDir(t)
	settle(t, d)
	remove(t, filepath.Dir(client), filepath.Base(client))
	mend(t, d) // what it would be compared with is gone
	touch(t, filepath.Join(d.path, "is-leader"))
	if _, err := d.Mend(); err == nil || !strings.HasPrefix(err.Error(), `cannot give the unit its own it's a client: open `) {
		t.Errorf("without the client: %v", err)
	}
}

// A new directory is known by its times from the beginning: its second look is one.
func TestANewDirectoryOfToolsIsNotReadAgain(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-time.Minute)
	d, client := newOwnDir(t, filepath.Join(t.TempDir(), "tools"))
	remove(t, filepath.Dir(client), filepath.Base(client))
	for _, name := range []string{"", "it's a client", "juju-exec"} {
		st, err := os.Stat(filepath.Join(d.path, name))
		if err != nil || st.ModTime().After(began) {
			t.Errorf("a change of %q in this moment wouldn't show: %v, %v", name, st.ModTime(), err)
		}
	}
	if d.known == nil {
		t.Error("all links are looked at again")
	}
	mend(t, d) // what it would be compared with is gone
}

// The next agent may have another client, and finds what an agent before had that
// gave units links.
func TestTheNextAgentGivesTheUnitItsClientWithoutAWord(t *testing.T) {
	t.Parallel()
	d, client := ownDir(t)
	if err := os.WriteFile(client, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(client), "out'side")
	next := NewOwn(client, outside).Dir(d.path)
	mend(t, next)
	sameFiles(t, next, client)

	former := filepath.Join(t.TempDir(), "tools")
	linkTo(t, former, client)
	next = NewOwn(client, outside).Dir(former)
	mend(t, next)
	sameFiles(t, next, client)
}

func TestToolsLeadToTheProgramThatRuns(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := NewOwn(self, "").Dir(filepath.Join(t.TempDir(), "tools"))
	mend(t, d)
	for _, name := range []string{"config-get", "juju-run"} {
		if to, err := os.Readlink(filepath.Join(d.path, name)); err != nil || to != self || d.Client() != self {
			t.Errorf("%s leads to %s, %v", name, to, err)
		}
	}
}

func TestAUnitsCallerBecomesTheProgramOfItsName(t *testing.T) {
	t.Parallel()
	d, client := ownDir(t)
	outside := filepath.Join(filepath.Dir(client), "out'side")
	mkdir(t, outside)
	for _, name := range Outside() {
		text := "#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"\nexit 7\n"
		syscall.ForkLock.RLock() // or a program of another test has it open
		err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o755)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(filepath.Join(d.path, name), "two words", "", "*").Output()
		want := filepath.Join(outside, name) + "|two words||*|"
		if string(out) != want || err == nil || err.Error() != "exit status 7" {
			t.Errorf("it has said %q, %v; want %q", out, err, want)
		}
	}
}

func overwrite(t *testing.T, path string, flag int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("harm"); err != nil {
		t.Fatal(err)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
}
