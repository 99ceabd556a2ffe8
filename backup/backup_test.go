package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	"github.com/juju/clock"
	jujuerrors "github.com/juju/errors"
	"github.com/klauspost/compress/zstd"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
)

// original is a data directory with a store, and the key for its backups.
type original struct {
	t          *testing.T
	dir        string
	controller *state.Controller
	key        *age.X25519Identity
	keys       func() ([]byte, error) // of secrets
}

func newOriginal(t *testing.T) *original {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	o := &original{t: t, dir: t.TempDir(), controller: newController(t), key: key, keys: func() ([]byte, error) { return []byte("AGE-SECRET-KEY-1CANARY\n"), nil }}
	m, err := o.controller.AddModel(context.Background(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.SetModelConfig(context.Background(), map[string]string{state.RetryHooks: "false"}, nil); err != nil {
		t.Fatal(err)
	}
	o.write("agent.id", "id")
	o.write("models/"+m.UUID()+"/debug.log", "a line\n")
	o.write("storage/"+m.UUID()+"/data-0/fs/rows", "rows")
	if err := os.Symlink("rows", filepath.Join(o.dir, "storage", m.UUID(), "data-0/fs/link")); err != nil {
		t.Fatal(err)
	}
	return o
}

func newController(t *testing.T) *state.Controller {
	t.Helper()
	s := memory.New(clock.WallClock)
	t.Cleanup(func() { s.Close() })
	return state.NewController(s, clock.WallClock)
}

func (o *original) write(name, content string) {
	o.t.Helper()
	path := filepath.Join(o.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o640)); err != nil {
		o.t.Fatal(err)
	}
}

func (o *original) take(disk durable.Disk, path string, storage bool) error {
	_, err := Take(context.Background(), disk, Source{Dir: o.dir, Controller: o.controller, Keys: o.keys, Storage: storage, Version: "1", Host: "h"},
		[]age.Recipient{o.key.Recipient()}, path)
	return err
}

// backup is the path of a new backup.
func (o *original) backup(storage bool) string {
	o.t.Helper()
	path := filepath.Join(o.t.TempDir(), "backup")
	if err := o.take(durable.Disk{}, path, storage); err != nil {
		o.t.Fatal(err)
	}
	return path
}

func (o *original) with() []age.Identity { return []age.Identity{o.key} }

// target restores into a data directory, and a store that isn't in it.
func target(dir string, c *state.Controller) Target {
	return Target{Dir: dir, StoreFile: "store.db", Open: func(string) (*state.Controller, func() error, error) {
		return c, func() error { return nil }, nil
	}}
}

// content is what is in a directory, but for what is of this restoration alone.
func content(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir || d.Name() == knownName {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(strings.TrimPrefix(path, dir), " ", st.Mode())
		switch {
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " " + to
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(b)
		}
		all = append(all, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func models(t *testing.T, c *state.Controller) (names []string) {
	t.Helper()
	infos, err := c.Models(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		names = append(names, i.Name)
	}
	return names
}

// TestWhatIsRestoredIsWhatThereWas, with the content of storage only if that was asked for, and
// nothing of it in plain in the file.
func TestWhatIsRestoredIsWhatThereWas(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	for _, storage := range []bool{false, true} {
		path := o.backup(storage)
		b, err := os.ReadFile(path)
		if err != nil || bytes.Contains(b, []byte("CANARY")) || bytes.Contains(b, []byte("a line")) || bytes.Contains(b, []byte("shop")) {
			t.Errorf("%v; what is in the file can be read without a key", err)
		}
		dir, c := filepath.Join(t.TempDir(), "new"), newController(t)
		info, err := Restore(context.Background(), durable.Disk{}, target(dir, c), path, o.with())
		if err != nil || len(info.Models) != 1 {
			t.Fatalf("%+v, %v", info, err)
		}
		want := content(t, o.dir)
		if !storage {
			want = slices.DeleteFunc(want, func(line string) bool { return strings.HasPrefix(line, "/storage") })
		}
		want = append(want, "/secret.key -rw------- AGE-SECRET-KEY-1CANARY\n")
		slices.Sort(want)
		got := content(t, dir)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("there is\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got := models(t, c); !slices.Equal(got, []string{"shop"}) {
			t.Errorf("the models are %v", got)
		}
		m, err := c.Model(context.Background(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		doc, restored, err := m.Restored(context.Background())
		if err != nil || !restored {
			t.Fatal(restored, err)
		}
		if knows, err := Knows(dir, m.UUID(), doc); err != nil || !knows {
			t.Errorf("the data directory doesn't know of its restoration: %v", err)
		}
		if _, err := Restore(context.Background(), durable.Disk{}, target(dir, newController(t)), path, o.with()); !jujuerrors.Is(err, ErrNotEmpty) {
			t.Errorf("into a directory that has something: %v", err)
		}
		other := filepath.Join(t.TempDir(), "other")
		if _, err := Restore(context.Background(), durable.Disk{}, target(other, c), path, o.with()); !jujuerrors.Is(err, state.ErrNotEmpty) {
			t.Errorf("into a store that has something: %v", err)
		}
		if left := content(t, other); len(left) > 0 {
			t.Errorf("what was refused has left %v", left)
		}
	}
}

// TestABackupHasTheKeysOfBothSidesOfItsMoment: rotate-secret-key may run meanwhile.
func TestABackupHasTheKeysOfBothSidesOfItsMoment(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	o.write(KeyFile, "AGE-SECRET-KEY-1OLD\n")
	o.keys = func() ([]byte, error) {
		b, err := os.ReadFile(filepath.Join(o.dir, KeyFile))
		o.write(KeyFile, "AGE-SECRET-KEY-1NEW\n")
		return b, err
	}
	dir := filepath.Join(t.TempDir(), "new")
	if _, err := Restore(context.Background(), durable.Disk{}, target(dir, newController(t)), o.backup(false), o.with()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, KeyFile))
	if want := "AGE-SECRET-KEY-1NEW\nAGE-SECRET-KEY-1OLD\n"; err != nil || string(b) != want {
		t.Errorf("the keys are %q (%v), not %q", b, err, want)
	}
}

// TestEachDamageIsFound: a bit of any byte, an end that is missing, and something after it; and nothing is
// written then.
func TestEachDamageIsFound(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	whole, err := os.ReadFile(o.backup(false))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged")
	n := 0
	check := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if n++; n%40 != 1 {
			if _, err := Check(path, o.with()); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		dir := filepath.Join(t.TempDir(), "new")
		c := newController(t)
		_, err := Restore(context.Background(), durable.Disk{}, target(dir, c), path, o.with())
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Lstat(dir); !os.IsNotExist(err) || len(models(t, c)) > 0 {
			t.Errorf("%s: something was written", what)
		}
	}
	for i := range whole {
		b := slices.Clone(whole)
		b[i] ^= 1 << (i % 8)
		check(fmt.Sprintf("byte %d of %d", i, len(whole)), b)
	}
	for n := 0; n < len(whole); n += 7 {
		check(fmt.Sprintf("cut off at %d", n), whole[:n])
	}
	check("longer", append(slices.Clone(whole), 0))
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(path, []age.Identity{other}); !jujuerrors.Is(err, ErrWrongKey) {
		t.Errorf("with another key: %v", err)
	}
}

// killer ends everything at one of the steps: of the disk, and of the store.
type killer struct {
	mu   sync.Mutex
	n    int // the steps that are left; below 0: nobody is killed
	torn bool
	dead bool
}

var errKilled = errors.New("killed")

func (k *killer) step(half, whole func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return errKilled
	}
	if k.n--; k.n == 0 {
		k.dead = true
		if k.torn && half != nil {
			_ = half()
		}
		return errKilled
	}
	return whole()
}

func (k *killer) disk() durable.Disk {
	return durable.Disk{Around: func(_ durable.Step, half, whole func() error) error { return k.step(half, whole) }}
}

// mortal is a store whose commits are steps.
type mortal struct {
	store.Store
	k *killer
}

// Update is part of store.Store.
func (m mortal) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (rev int64, err error) {
	err = m.k.step(nil, func() (err error) {
		rev, err = m.Store.Update(ctx, fn, opts...)
		return err
	})
	return rev, err
}

// TestARestorationThatIsKilledAtAnyStepCanBeRunAgain: before that nobody may use the data directory, nor
// sees a model in the store, unless all is there; and afterwards all is.
func TestARestorationThatIsKilledAtAnyStepCanBeRunAgain(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	path := o.backup(true)
	reference := filepath.Join(t.TempDir(), "reference")
	if _, err := Restore(context.Background(), durable.Disk{}, target(reference, newController(t)), path, o.with()); err != nil {
		t.Fatal(err)
	}
	want := content(t, reference)
	for n := 1; ; n++ {
		k := &killer{n: n, torn: n%2 == 0}
		dir, c := filepath.Join(t.TempDir(), "new"), newController(t)
		_, err := Restore(context.Background(), k.disk(), target(dir, c.Through(mortal{c.Store(), k})), path, o.with())
		if !k.dead {
			if err != nil || n < 20 {
				t.Fatalf("after %d steps: %v", n, err)
			}
			return
		}
		if err == nil {
			t.Errorf("killed at step %d it says that all is well", n)
		}
		there, whole := content(t, existing(dir)), false
		if !Unfinished(dir) {
			whole = slices.Equal(there, want)
			if hardly := len(there) == 0 || len(there) == 1 && strings.HasPrefix(there[0], "/restoring.new "); !whole && !hardly {
				t.Errorf("killed at step %d there is, for anybody to use, %v", n, there)
			}
		}
		if seen := models(t, c); len(seen) > 0 && !slices.Equal(without(there, "/restoring "), want) {
			t.Errorf("killed at step %d the store has models, and the data directory %v", n, there)
		}
		if whole {
			continue
		}
		if _, err := Restore(context.Background(), durable.Disk{}, target(dir, c), path, o.with()); err != nil {
			t.Fatalf("killed at step %d it can't be run again: %v", n, err)
		}
		if got := content(t, dir); !slices.Equal(got, want) || !slices.Equal(models(t, c), []string{"shop"}) {
			t.Errorf("killed at step %d, and run again, there is %v", n, got)
		}
	}
}

// TestTheStoreAloneCanBeRestoredAgainWhereverThatIsKilled: what the data directory has stays, and
// until all is there nobody makes another store.
func TestTheStoreAloneCanBeRestoredAgainWhereverThatIsKilled(t *testing.T) {
	t.Parallel()
	path, with := "", []age.Identity(nil)
	{
		o := newOriginal(t)
		path, with = o.backup(false), o.with()
	}
	for n := 1; ; n++ {
		k := &killer{n: n, torn: n%2 == 0}
		dir := t.TempDir()
		to := storeOnly(t, dir)
		own := []string{"/own -rw------- mine", "/secret.key -rw------- AGE-SECRET-KEY-1CANARY\n", "/store.db -rw------- whole"}
		if err := os.WriteFile(filepath.Join(dir, "own"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Restore(context.Background(), k.disk(), to, path, with)
		if !k.dead {
			if got := content(t, dir); err != nil || n < 8 || !slices.Equal(got, own) {
				t.Fatalf("after %d steps: %v, %v", n, got, err)
			}
			return
		}
		_, missing := os.Lstat(filepath.Join(dir, "store.db"))
		if missing == nil && !UnfinishedStore(dir) {
			continue // it is there, and only what was staged is left
		}
		if _, err := Restore(context.Background(), durable.Disk{}, to, path, with); err != nil {
			t.Fatalf("killed at step %d it can't be run again: %v", n, err)
		}
		if got := content(t, dir); !slices.Equal(got, own) {
			t.Errorf("killed at step %d, and run again, there is %v", n, got)
		}
	}
}

// storeOnly restores the store alone, which is a file in a data directory.
func storeOnly(t *testing.T, dir string) Target {
	return Target{Dir: dir, StoreFile: "store.db", Inside: true, StoreOnly: true, Open: func(at string) (*state.Controller, func() error, error) {
		return newController(t), func() error { return os.WriteFile(filepath.Join(at, "store.db"), []byte("whole"), 0o600) }, nil
	}}
}

// TestAStoreThatIsMadeMeanwhileStaysAsItIs, or the log of one.
func TestAStoreThatIsMadeMeanwhileStaysAsItIs(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	path := o.backup(false)
	for _, name := range []string{"store.db", "store.db-wal", "store.db-shm"} {
		dir := t.TempDir()
		to := storeOnly(t, dir)
		open := to.Open
		to.Open = func(at string) (*state.Controller, func() error, error) {
			if !UnfinishedStore(dir) || Unfinished(dir) {
				t.Error("the data directory doesn't say that the store is being restored")
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte("another"), 0o600); err != nil {
				t.Error(err)
			}
			return open(at)
		}
		if _, err := Restore(context.Background(), durable.Disk{}, to, path, o.with()); !jujuerrors.Is(err, ErrNotEmpty) {
			t.Errorf("with %s: %v", name, err)
		}
		if got, want := content(t, dir), []string{"/secret.key -rw------- AGE-SECRET-KEY-1CANARY\n", "/" + name + " -rw------- another"}; !slices.Equal(got, want) {
			t.Errorf("there is %v", got)
		}
	}
}

// existing is a directory, or an empty one where there is none.
func existing(dir string) string {
	if _, err := os.Lstat(dir); err == nil {
		return dir
	}
	return os.DevNull
}

// without leaves out lines that begin so.
func without(lines []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.HasPrefix(l, prefix) })
}

// TestABackupThatIsKilledAtAnyStepIsNone, and the next one is not in its way.
func TestABackupThatIsKilledAtAnyStepIsNone(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	for n := 1; ; n++ {
		path := filepath.Join(t.TempDir(), "backup")
		k := &killer{n: n, torn: n%2 == 0}
		err := o.take(k.disk(), path, true)
		if !k.dead {
			if err != nil || n < 5 {
				t.Fatalf("after %d steps: %v", n, err)
			}
			return
		}
		if err == nil {
			t.Errorf("killed at step %d it says that all is well", n)
		}
		if _, err := os.Lstat(path); err == nil {
			if _, err := Check(path, o.with()); err != nil {
				t.Errorf("killed at step %d there is a backup that isn't one: %v", n, err)
			}
			continue
		}
		if err := o.take(durable.Disk{}, path, true); err != nil {
			t.Fatalf("killed at step %d: %v", n, err)
		}
		if _, err := Check(path, o.with()); err != nil {
			t.Errorf("killed at step %d: %v", n, err)
		}
	}
}

// forged is what is inside of a backup whose entries somebody with the key has made.
func forged(t testing.TB, entries ...*tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	packed, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{packed: packed, tar: tar.NewWriter(packed), digest: newDigest()}
	if err := errors.Join(a.json(infoName, Info{Format: 1}), a.whole(storeName+"00000001", []byte("{}\n"))); err != nil {
		t.Fatal(err)
	}
	for _, h := range entries {
		if err := a.head(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(a.json(endName, a.digest.end()), a.tar.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestNothingLeadsOutOfTheDataDirectory: names, links and kinds of files that no backup has are refused.
func TestNothingLeadsOutOfTheDataDirectory(t *testing.T) {
	t.Parallel()
	file := func(name string, kind byte) *tar.Header {
		return &tar.Header{Typeflag: kind, Name: name, Linkname: "/etc"}
	}
	if _, err := readOpened(bytes.NewReader(forged(t, file("data/a", tar.TypeDir), file("data/a/b", tar.TypeReg))), sink{}); err != nil {
		t.Errorf("what is right: %v", err)
	}
	for _, entries := range [][]*tar.Header{
		{file("data/../a", tar.TypeReg)}, {file("data//a", tar.TypeReg)}, {file("data/", tar.TypeDir)}, {file("a", tar.TypeReg)},
		{file("data/a/b", tar.TypeReg)}, {file("data/a", tar.TypeSymlink), file("data/a/b", tar.TypeReg)}, {file("data/a", tar.TypeReg), file("data/a", tar.TypeReg)},
		{file("data/a", tar.TypeSymlink), file("data/a", tar.TypeDir)}, {file("data/a", tar.TypeLink)}, {file("data/a", tar.TypeChar)}, {file("data/a", tar.TypeFifo)},
		{file("store/00000003", tar.TypeReg)}, {file("data/a", tar.TypeDir), file("store/00000002", tar.TypeReg)},
	} {
		if _, err := readOpened(bytes.NewReader(forged(t, entries...)), sink{}); !jujuerrors.Is(err, ErrDamaged) {
			t.Errorf("%s %c: %v", entries[len(entries)-1].Name, entries[len(entries)-1].Typeflag, err)
		}
	}
}

// FuzzRead: whatever a file has, reading it ends, with an error of one line or with what is in it.
func FuzzRead(f *testing.F) {
	f.Add(forged(f))
	f.Add(forged(f, &tar.Header{Typeflag: tar.TypeDir, Name: "data/a"}))
	f.Add([]byte("unitd-backup 1\nage-encryption.org/v1\n"))
	key, err := age.GenerateX25519Identity()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := readOpened(bytes.NewReader(b), sink{})
		_, outer := read(bytes.NewReader(b), []age.Identity{key}, sink{})
		for _, err := range []error{err, outer} {
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
		}
	})
}
