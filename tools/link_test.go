package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// settledDir is a directory of tools that nothing has touched for a while.
func settledDir(t testing.TB) (*Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tools")
	d := NewDir(path, LinksTo("client"))
	if err := os.Mkdir(path, 0o755); err != nil { // new, and nothing that was damaged
		t.Fatal(err)
	}
	mend(t, d)
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	mend(t, d)
	return d, path
}

// mend makes a directory right, and says that these names were not.
func mend(t testing.TB, d *Dir, want ...string) {
	t.Helper()
	got, err := d.Mend()
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("mended %q, %v; want %q", got, err, want)
	}
}

func TestToolsThatNobodyTouchesAreSeenByOneLook(t *testing.T) {
	t.Parallel()
	d, path := settledDir(t)
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// Nobody sees what has changed without a trace: that would take a look at each.
	remove(t, path, "config-get")
	if err := os.Chtimes(path, was.ModTime(), was.ModTime()); err != nil {
		t.Fatal(err)
	}
	mend(t, d)
	// Any trace will do.
	if err := os.Chtimes(path, was.ModTime(), was.ModTime().Add(time.Nanosecond)); err != nil {
		t.Fatal(err)
	}
	mend(t, d, "config-get")
	mend(t, d)
}

func TestDamagedToolsAreMended(t *testing.T) {
	t.Parallel()
	var all []string
	for _, tool := range Table() {
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	for name, c := range map[string]struct {
		damage func(t *testing.T, path string)
		mended []string
	}{
		"a tool is removed":            {func(t *testing.T, p string) { remove(t, p, "config-get") }, []string{"config-get"}},
		"the directory is removed":     {func(t *testing.T, p string) { remove(t, p, "") }, all},
		"a file is in its place":       {func(t *testing.T, p string) { remove(t, p, ""); write(t, p) }, all},
		"a file is in a tool's":        {func(t *testing.T, p string) { remove(t, p, "is-leader"); write(t, p+"/is-leader") }, []string{"is-leader"}},
		"a directory is in a tool's":   {func(t *testing.T, p string) { remove(t, p, "is-leader"); mkdir(t, p+"/is-leader/x") }, []string{"is-leader"}},
		"nobody may enter it":          {func(t *testing.T, p string) { chmod(t, p) }, nil},
		"a tool leads somewhere else":  {func(t *testing.T, p string) { remove(t, p, "is-leader"); symlink(t, p+"/is-leader") }, nil},
		"nothing, but a file is added": {func(t *testing.T, p string) { write(t, p+"/mine") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, path := settledDir(t)
			c.damage(t, path)
			mend(t, d, c.mended...)
			for _, name := range all {
				if to, err := os.Readlink(filepath.Join(path, name)); err != nil || to != "client" {
					t.Errorf("%s: %q, %v", name, to, err)
				}
			}
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o755 {
				t.Errorf("its mode: %v, %v", st.Mode(), err)
			}
			mend(t, d)
		})
	}
}

func remove(t *testing.T, path, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(path, name)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, path string) {
	t.Helper()
	if err := os.Symlink("/nowhere", path); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkMend is what each run of a hook pays for its tools.
func BenchmarkMend(b *testing.B) {
	d, _ := settledDir(b)
	for b.Loop() {
		mend(b, d)
	}
}

// BenchmarkMendOwn is that with files of its own, of whom nobody knows yet how
// long they have been as they are, and when all is known.
func BenchmarkMendOwn(b *testing.B) {
	for _, settled := range []bool{false, true} {
		b.Run(fmt.Sprintf("settled=%t", settled), func(b *testing.B) {
			d, _ := ownDir(b)
			if settled {
				settle(b, d)
			}
			for b.Loop() {
				mend(b, d)
			}
		})
	}
}

func TestTheToolsAreNamesOfOneLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux are names of a link surely its own")
	}
	d, path := settledDir(t)
	remove(t, path, "is-leader")
	mend(t, d, "is-leader")
	first, err := os.Lstat(filepath.Join(path, Table()[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range Table() {
		now, err := os.Lstat(filepath.Join(path, tool.Name))
		if err != nil || !os.SameFile(first, now) || now.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is a file of its own, or no link: %v, %v", tool.Name, now, err)
		}
	}
}
