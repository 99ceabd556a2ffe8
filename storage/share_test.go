package storage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/storage"
)

func TestStorageIsSharedWithAGroup(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it needs root to give files away")
	}
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(path, want string) {
		t.Helper()
		st, err := os.Lstat(path)
		ok(err)
		own := st.Sys().(*syscall.Stat_t)
		if got := fmt.Sprintf("%d:%d %o", own.Uid, own.Gid, own.Mode&0o7777); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	below, file, link := filepath.Join(dir, "below"), filepath.Join(dir, "below", "file"), filepath.Join(dir, "link")
	ok(os.Mkdir(below, 0o700))
	ok(os.WriteFile(file, nil, 0o600))
	ok(os.WriteFile(outside, nil, 0o600))
	ok(os.Chown(file, 584792, 584792))
	ok(os.Symlink(outside, link))
	ok(storage.Share(durable.Disk{}, dir, 170, false))
	is(dir, "0:170 2775")
	is(below, "0:170 2770")
	is(file, "584792:170 660")
	is(link, "0:170 777")
	is(outside, "0:0 600")

	// What is closed later stays so, until all is wanted.
	ok(os.Chmod(file, 0o600))
	ok(storage.Share(durable.Disk{}, dir, 170, false))
	is(file, "584792:170 600")
	ok(storage.Share(durable.Disk{}, dir, 170, true))
	is(file, "584792:170 660")
}
