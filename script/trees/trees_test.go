package trees_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/script/trees"
)

func nothing(string) bool { return false }

// picture is what is in a directory: by path, all that a program can tell of it, but for inodes.
func picture(t rapid.TB, dir string) map[string]string {
	all, firsts := map[string]string{}, map[uint64]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := fmt.Sprint(info.Mode())
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" %d %q", info.ModTime().UnixNano(), b)
			if st := info.Sys().(*syscall.Stat_t); st.Nlink > 1 {
				if firsts[st.Ino] == "" {
					firsts[st.Ino] = path
				}
				what += " as " + strings.TrimPrefix(firsts[st.Ino], dir)
			}
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " to " + target
		default:
			what += fmt.Sprint(" ", info.ModTime().UnixNano())
		}
		all[strings.TrimPrefix(path, dir+"/")] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t rapid.TB, dir string, want map[string]string) {
	got := picture(t, dir)
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			t.Fatalf("%s is %q, and was %q", path, got[path], want[path])
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Fatalf("there is %s", path)
		}
	}
}

// change does something to a directory, or nothing where it can't be done.
func change(t *rapid.T, dir string) {
	paths := []string{"a", "b", "c", "d", "d/a", "d/b", "d/d", "d/d/a", "e/a"}
	path := filepath.Join(dir, rapid.SampledFrom(paths).Draw(t, "path"))
	other := filepath.Join(dir, rapid.SampledFrom(paths).Draw(t, "other"))
	text := rapid.SampledFrom([]string{"", "1", "2", "long"}).Draw(t, "text")
	for p := path; p != dir; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			_ = os.Remove(p) // who opened it would wait for the other end
		}
	}
	switch rapid.SampledFrom([]string{"write", "write", "furtive", "furtive", "append", "mkdir", "remove", "rename", "symlink", "link", "chmod", "pipe", "time"}).Draw(t, "do") {
	case "write":
		_ = os.WriteFile(path, []byte(text), 0o640)
	case "furtive": // other content of the same length, and the same time
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() != 1 {
			return
		}
		_ = os.WriteFile(path, []byte(rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "other text")), 0)
		_ = os.Chtimes(path, info.ModTime(), info.ModTime())
	case "append":
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.WriteString(text)
			f.Close()
		}
	case "mkdir":
		_ = os.MkdirAll(path, 0o750)
	case "remove":
		_ = os.RemoveAll(path)
	case "rename":
		_ = os.Rename(path, other)
	case "symlink":
		_ = os.Symlink(text+"x", path)
	case "link":
		_ = os.Link(path, other)
	case "chmod":
		_ = os.Chmod(path, rapid.SampledFrom([]fs.FileMode{0o700, 0o500, 0o755, 0o1777}).Draw(t, "mode"))
	case "pipe":
		_ = unix.Mkfifo(path, 0o600)
	case "time":
		_ = os.Chtimes(path, time.Unix(int64(len(text)), 0), time.Unix(int64(len(text)), 5))
	}
}

// TestADirectoryIsWhatItWasAtAnyOfItsMoments: whatever has been done to it since, at once and as furtively as can be.
func TestADirectoryIsWhatItWasAtAnyOfItsMoments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		top, err := os.MkdirTemp("", "trees-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		dir, pool := filepath.Join(top, "dir"), filepath.Join(top, "pool")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		k := trees.New(dir, pool)
		type kept struct {
			moment *trees.Moment
			was    map[string]string
		}
		var all []kept
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			i := -1
			if len(all) > 0 {
				i = rapid.IntRange(0, len(all)-1).Draw(t, "moment")
			}
			switch what := rapid.IntRange(0, 9).Draw(t, "step"); {
			case what == 0 && len(all) < 4:
				m, err := k.Keep(false, nothing)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, kept{m, picture(t, dir)})
			case what <= 2 && i >= 0:
				if err := k.Restore(all[i].moment); err != nil {
					t.Fatal(err)
				}
				same(t, dir, all[i].was)
			case what == 3 && i >= 0:
				if err := k.Forget(all[i].moment); err != nil {
					t.Fatal(err)
				}
				all = slices.Delete(all, i, i+1)
			default:
				change(t, dir)
			}
		}
		for _, one := range all {
			if err := k.Restore(one.moment); err != nil {
				t.Fatal(err)
			}
			same(t, dir, one.was)
		}
		for _, one := range all {
			if err := k.Forget(one.moment); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := os.ReadDir(pool); len(left) > 0 || err != nil && !os.IsNotExist(err) {
			t.Fatalf("%v: %d files are left in the pool", err, len(left))
		}
	})
}

// write writes a file, and makes its directory.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func keep(t *testing.T, k *trees.Keeper) *trees.Moment {
	t.Helper()
	m, err := k.Keep(false, nothing)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func restore(t *testing.T, k *trees.Keeper, m *trees.Moment) {
	t.Helper()
	if err := k.Restore(m); err != nil {
		t.Fatal(err)
	}
}

// TestWhatHasNotChangedIsNeitherCopiedNorTouched.
func TestWhatHasNotChangedIsNeitherCopiedNorTouched(t *testing.T) {
	t.Parallel()
	dir, pool := t.TempDir(), filepath.Join(t.TempDir(), "pool")
	k := trees.New(dir, pool)
	write(t, filepath.Join(dir, "d/still"), "still")
	write(t, filepath.Join(dir, "d/busy"), "busy")
	inPool := func() int {
		files, err := os.ReadDir(pool)
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	restore(t, k, keep(t, k)) // from here on all is known
	first := keep(t, k)
	began := inPool()
	still := inode(t, filepath.Join(dir, "d/still"))
	second := keep(t, k)
	if n := inPool(); n != began {
		t.Errorf("the second moment of the same files makes %d files of %d", n, began)
	}
	write(t, filepath.Join(dir, "d/busy"), "other")
	third := keep(t, k)
	open, err := os.Open(filepath.Join(dir, "d/busy"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if n := inPool(); n != began+1 {
		t.Errorf("a moment with one changed file makes %d files of %d", n, began)
	}
	for range 2 {
		for _, m := range []*trees.Moment{first, third, second} {
			restore(t, k, m)
			if inode(t, filepath.Join(dir, "d/still")) != still {
				t.Fatal("a file that hasn't changed is another one")
			}
		}
	}
	if b, err := io.ReadAll(open); err != nil || string(b) != "other" {
		t.Errorf("%v: a process that has the file open that has changed reads %q", err, b)
	}
}

// TestWhatIsLeftOutGoes: as a store that has files of its own.
func TestWhatIsLeftOutGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := trees.New(dir, filepath.Join(t.TempDir(), "pool"))
	write(t, filepath.Join(dir, "store.db"), "")
	write(t, filepath.Join(dir, "file"), "1")
	m, err := k.Keep(false, func(path string) bool { return strings.HasPrefix(path, "store") })
	if err != nil {
		t.Fatal(err)
	}
	restore(t, k, m)
	if got := slices.Collect(maps.Keys(picture(t, dir))); !slices.Equal(got, []string{"file"}) {
		t.Errorf("there are %v", got)
	}
}

// TestMarksOfOverlays: owners, marks that something is gone, attributes, and directories for nobody.
func TestMarksOfOverlays(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("owners and devices take root")
	}
	dir := t.TempDir()
	k := trees.New(dir, filepath.Join(t.TempDir(), "pool"))
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	opaque := func(name string) string {
		b := make([]byte, 10)
		n, err := unix.Lgetxattr(at(name), "user.overlay.opaque", b)
		if err != nil {
			return err.Error()
		}
		return string(b[:n])
	}
	write(t, at("owned"), "1")
	must(os.Lchown(at("owned"), 5, 6))
	must(unix.Mknod(at("gone"), unix.S_IFCHR, 0))
	for _, name := range []string{"opaque", "plain", "shut"} {
		must(os.Mkdir(at(name), 0o755))
	}
	must(os.Chmod(at("shut"), 0))
	if err := unix.Lsetxattr(at("opaque"), "user.overlay.opaque", []byte("y"), 0); err != nil {
		t.Skipf("no attributes here: %v", err)
	}
	m := keep(t, k)
	for range 2 {
		must(os.Remove(at("owned")))
		write(t, at("owned"), "1")
		must(os.Remove(at("gone")))
		write(t, at("gone"), "it's back")
		must(unix.Lremovexattr(at("opaque"), "user.overlay.opaque"))
		must(unix.Lsetxattr(at("plain"), "user.overlay.opaque", []byte("y"), 0))
		must(os.Remove(at("shut")))
		restore(t, k, m)
		var st unix.Stat_t
		must(unix.Lstat(at("owned"), &st))
		if st.Uid != 5 || st.Gid != 6 {
			t.Errorf("the owner is %d:%d", st.Uid, st.Gid)
		}
		must(unix.Lstat(at("gone"), &st))
		if st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0 {
			t.Errorf("the mark has mode %o", st.Mode)
		}
		must(unix.Lstat(at("shut"), &st))
		if st.Mode != unix.S_IFDIR {
			t.Errorf("the directory for nobody has mode %o", st.Mode)
		}
		if got := opaque("opaque"); got != "y" {
			t.Errorf("the opaque directory is %s", got)
		}
		if got := opaque("plain"); got != unix.ENODATA.Error() {
			t.Errorf("the plain directory is %s", got)
		}
	}
}

// TestWhatADirectoryGivesToNewFilesIsNotRestored: as its default access control list.
func TestWhatADirectoryGivesToNewFilesIsNotRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := trees.New(dir, filepath.Join(t.TempDir(), "pool"))
	write(t, filepath.Join(dir, "d/file"), "1")
	list := []byte{2, 0, 0, 0}
	for _, rule := range [][3]int{{1, 7, -1}, {2, 7, 1234}, {4, 5, -1}, {16, 7, -1}, {32, 5, -1}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(rule[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(rule[1]))
		list = binary.LittleEndian.AppendUint32(list, uint32(rule[2]))
	}
	if err := unix.Setxattr(filepath.Join(dir, "d"), "system.posix_acl_default", list, 0); err != nil {
		t.Skipf("no access control lists here: %v", err)
	}
	m := keep(t, k)
	write(t, filepath.Join(dir, "d/file"), "22")
	restore(t, k, m)
	if n, err := unix.Llistxattr(filepath.Join(dir, "d/file"), nil); n != 0 || err != nil {
		t.Errorf("%v: the file has got %d bytes of attributes' names", err, n)
	}
	if n, err := unix.Lgetxattr(filepath.Join(dir, "d"), "system.posix_acl_default", nil); n != len(list) || err != nil {
		t.Errorf("%v: of the directory's list of %d bytes %d are left", err, len(list), n)
	}
}

// TestADirectoryThatIsGone: also then it can be made again.
func TestADirectoryThatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := trees.New(dir, filepath.Join(t.TempDir(), "pool"))
	write(t, filepath.Join(dir, "d/file"), "1")
	was := picture(t, dir)
	m := keep(t, k)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	restore(t, k, m)
	same(t, dir, was)
}

// TestAChangeInTheSameTickIsSeen: one that leaves size and time as they were, as soon as can be.
func TestAChangeInTheSameTickIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := trees.New(dir, filepath.Join(t.TempDir(), "pool"))
	path := filepath.Join(dir, "file")
	furtively := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(path); string(b) != want {
			t.Fatalf("%v: the file is %q, not %q", err, b, want)
		}
	}
	write(t, path, "1")
	for range 30 {
		furtively("1")
		first := keep(t, k)
		furtively("2")
		second := keep(t, k)
		restore(t, k, first)
		is("1")
		furtively("3")
		restore(t, k, first)
		is("1")
		restore(t, k, second)
		is("2")
	}
}
