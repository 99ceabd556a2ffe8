package storage_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/storage"
)

func newKeeper(t *testing.T, mounts bool) *storage.Keeper {
	t.Helper()
	dir := t.TempDir()
	k := &storage.Keeper{Dir: filepath.Join(dir, "storage"), Released: filepath.Join(dir, "released"), Mounts: mounts}
	t.Cleanup(func() {
		entries, _ := os.ReadDir(k.Dir)
		for _, e := range entries {
			i := strings.LastIndexByte(e.Name(), '-')
			must(t, k.Remove(context.Background(), model.StorageID(e.Name()[:i]+"/"+e.Name()[i+1:])))
		}
	})
	return k
}

// mounting is a keeper that may mount; the test is skipped where nobody may.
func mounting(t *testing.T) *storage.Keeper {
	t.Helper()
	dir := t.TempDir()
	if !storage.MayMount() || exec.Command("mount", "-t", "tmpfs", "tmpfs", dir).Run() != nil {
		t.Skip("file systems can't be mounted here")
	}
	must(t, exec.Command("umount", dir).Run())
	return newKeeper(t, true)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func provide(t *testing.T, k *storage.Keeper, v storage.Volume) string {
	t.Helper()
	where, err := k.Provide(context.Background(), v)
	must(t, err)
	return where
}

func fill(t *testing.T, dir string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("kept"), 0o600))
}

func filled(dir string) bool {
	b, _ := os.ReadFile(filepath.Join(dir, "file"))
	return string(b) == "kept"
}

func TestADirectoryCanAlwaysBeHad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	k := newKeeper(t, false)
	v := storage.Volume{ID: "web-logs/2", Provider: model.RootFS, Kind: model.Filesystem, Wanted: "/srv/nobody/asks"}
	where := provide(t, k, v)
	if where != filepath.Join(k.Dir, "web-logs-2", "fs") {
		t.Errorf("it is at %s", where)
	}
	fill(t, where)
	must(t, k.Release(ctx, v.ID))
	must(t, k.Release(ctx, v.ID))
	if again := provide(t, k, v); again != where || !filled(where) {
		t.Errorf("what was in it is lost, or it is at %s now", again)
	}
	must(t, k.Remove(ctx, v.ID))
	must(t, k.Remove(ctx, v.ID))
	if _, err := os.Stat(where); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestWhatIsReleasedStays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	k := newKeeper(t, false)
	fill(t, provide(t, k, storage.Volume{ID: "data/0", Provider: model.RootFS, Kind: model.Filesystem}))
	to, err := k.Hand(ctx, "data/0")
	must(t, err)
	if to != filepath.Join(k.Released, "data-0") || !filled(filepath.Join(to, "fs")) {
		t.Errorf("it isn't at %q", to)
	}
	if to, err := k.Hand(ctx, "data/0"); to != "" || err != nil {
		t.Errorf("once more: %q, %v", to, err)
	}
}

func TestWithoutLeaveToMountOnlyDirectoriesAreHad(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, false)
	const root = " needs an agent that runs as root on Linux"
	for _, c := range []struct {
		volume storage.Volume
		want   string
	}{
		{storage.Volume{ID: "data/0", Provider: model.TmpFS, Kind: model.Filesystem, Size: 8}, "tmpfs" + root + "; or use --storage data=rootfs"},
		{storage.Volume{ID: "data/1", Provider: model.Loop, Kind: model.Filesystem, Size: 8}, "loop" + root + "; or use --storage data=rootfs"},
		{storage.Volume{ID: "data/2", Provider: model.Loop, Kind: model.Block, Size: 8}, "loop" + root},
	} {
		_, err := k.Provide(context.Background(), c.volume)
		if !errors.Is(err, errors.NotSupported) || err.Error() != c.want {
			t.Errorf("%+v: %v", c.volume, err)
		}
	}
	if _, err := os.Stat(k.Dir); !os.IsNotExist(err) {
		t.Errorf("something was left: %v", err)
	}
}

func TestMountedVolumes(t *testing.T) {
	t.Parallel()
	for _, v := range []storage.Volume{
		{ID: "data/0", Provider: model.RootFS, Kind: model.Filesystem},
		{ID: "data/0", Provider: model.TmpFS, Kind: model.Filesystem, Size: 8},
		{ID: "data/0", Provider: model.Loop, Kind: model.Filesystem, Size: 8},
	} {
		t.Run(v.Provider, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			k := mounting(t)
			v.Wanted = filepath.Join(t.TempDir(), "srv", "my data")
			where := provide(t, k, v)
			if where != v.Wanted {
				t.Fatalf("it is at %s", where)
			}
			fill(t, where)
			if again := provide(t, k, v); again != where || !filled(where) {
				t.Errorf("provided once more, it is at %s", again)
			}
			// As after the end of its agent: another one lets go of it.
			after := &storage.Keeper{Dir: k.Dir, Released: k.Released, Mounts: true}
			must(t, after.Release(ctx, v.ID))
			if _, err := os.Stat(where); !os.IsNotExist(err) {
				t.Errorf("the place that was made for it is still there: %v", err)
			}
			moved := v
			moved.Wanted = filepath.Join(t.TempDir(), "elsewhere")
			where = provide(t, after, moved)
			if keeps := v.Provider != model.TmpFS; where != moved.Wanted || filled(where) != keeps {
				t.Errorf("it is at %s, with what was in it: %v", where, filled(where))
			}
			must(t, after.Remove(ctx, v.ID))
			if entries, err := os.ReadDir(k.Dir); err != nil || len(entries) > 0 {
				t.Errorf("left: %v, %v", entries, err)
			}
		})
	}
}

func TestAPlaceThatIsTakenIsLeftAlone(t *testing.T) {
	t.Parallel()
	k := mounting(t)
	taken := t.TempDir()
	fill(t, taken)
	v := storage.Volume{ID: "data/0", Provider: model.TmpFS, Kind: model.Filesystem, Size: 8, Wanted: taken}
	if where := provide(t, k, v); where != filepath.Join(k.Dir, "data-0", "fs") || !filled(taken) {
		t.Errorf("it is at %s", where)
	}
	free := filepath.Join(t.TempDir(), "x")
	first := storage.Volume{ID: "data/1", Provider: model.RootFS, Kind: model.Filesystem, Wanted: free}
	second := storage.Volume{ID: "data/2", Provider: model.RootFS, Kind: model.Filesystem, Wanted: free}
	if one, other := provide(t, k, first), provide(t, k, second); one != free || other != filepath.Join(k.Dir, "data-2", "fs") {
		t.Errorf("they are at %s and %s", one, other)
	}
}

func TestStorageThatIsInUseSaysByWhom(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	k := mounting(t)
	v := storage.Volume{ID: "data/0", Provider: model.TmpFS, Kind: model.Filesystem, Size: 8}
	f, err := os.Create(filepath.Join(provide(t, k, v), "open"))
	must(t, err)
	err = k.Release(ctx, v.ID)
	if err == nil || !strings.Contains(err.Error(), "storage is in use, by process") {
		t.Errorf("got %v", err)
	}
	must(t, f.Close())
	// A process that another test starts just then has a copy of the file until it runs
	// its program.
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		err = k.Release(ctx, v.ID)
	}
	must(t, err)
}

func TestBlockStorageIsADevice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	k := mounting(t)
	if err := exec.Command("losetup", "--find").Run(); err != nil {
		t.Skip("there are no loop devices here")
	}
	v := storage.Volume{ID: "disk/0", Provider: model.Loop, Kind: model.Block, Size: 1}
	device := provide(t, k, v)
	st, err := os.Stat(device)
	must(t, err)
	if st.Mode()&os.ModeDevice == 0 {
		t.Errorf("%s is no device", device)
	}
	if again := provide(t, k, v); again != device {
		t.Errorf("provided once more, it is %s, not %s", again, device)
	}
	must(t, k.Remove(ctx, v.ID))
	if out, err := exec.Command("losetup", "--noheadings", "--output", "BACK-FILE", device).Output(); err == nil && strings.Contains(string(out), k.Dir) {
		t.Errorf("%s is still attached: %s", device, out)
	}
}

func TestARecordIsDurableBeforeItTakesThePlaceOfTheFormerOne(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, false)
	var steps []string
	k.Disk.Around = func(s durable.Step, _, whole func() error) error {
		if strings.Contains(s.Path, "record.json") || s.Do == durable.Sync {
			steps = append(steps, string(s.Do))
		}
		return whole()
	}
	provide(t, k, storage.Volume{ID: "data/0", Provider: model.RootFS, Kind: model.Filesystem, Wanted: "/srv/nobody/asks"})
	if got := strings.Join(steps, " "); got != "create write sync rename sync" {
		t.Errorf("the steps are %s", got)
	}
}

func TestARecordWithoutItsContentIsAsGoodAsNone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, content := range map[string]string{"empty": "", "zeroes": "\x00\x00\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, false)
			v := storage.Volume{ID: "data/0", Provider: model.RootFS, Kind: model.Filesystem, Wanted: "/srv/nobody/asks"}
			where := provide(t, k, v)
			fill(t, where)
			record := filepath.Join(filepath.Dir(where), "record.json")
			must(t, os.WriteFile(record, []byte(content), 0o600))
			if again := provide(t, k, v); again != where || !filled(where) {
				t.Errorf("what was in it is lost, or it is at %s now", again)
			}
			must(t, os.WriteFile(record, []byte(content), 0o600))
			must(t, k.Remove(ctx, v.ID))
		})
	}
}
