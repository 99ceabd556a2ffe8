package main_test

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/state/store/sqlite"
)

// TestAFormerStoreIsLeftAsItIsWhileAnAgentWorksOnIt: one that an earlier program
// has left behind has the leases of its units by another time than this program.
func TestAFormerStoreIsLeftAsItIsWhileAnAgentWorksOnIt(t *testing.T) {
	t.Parallel()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	format := formerStore(t, filepath.Join(data, "store.db"))
	command := func(args ...string) (string, error) {
		cmd := exec.Command(filepath.Join(bin, "unitd"), args...)
		cmd.Env = append(os.Environ(), "UNITD_DATA="+data)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	lock, err := os.OpenFile(filepath.Join(data, "agent.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.WriteString("1\n"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	out, err := command("status")
	if err == nil || !strings.Contains(out, `an agent of an earlier unitd (process 1) works on it: "unitd shutdown" ends that one`) || strings.Count(out, "\n") != 1 {
		t.Errorf("with that agent: %v, %s", err, out)
	}
	for _, args := range [][]string{{"store", "upgrade"}, {"store", "upgrade", "--dry-run"}} {
		if out, err := command(args...); err == nil || !strings.Contains(out, "(process 1) works on it") || strings.Count(out, "\n") != 1 {
			t.Errorf("%q with that agent: %v, %s", args, err, out)
		}
	}
	if got := format(); got != 1 {
		t.Errorf("it has the format %d by now", got)
	}
	lock.Close()
	if out, err := command("store", "upgrade", "--dry-run"); err != nil || !strings.HasSuffix(out, "can be upgraded: no agent of an earlier unitd works on it\n") || format() != 1 {
		t.Errorf("looking once it has ended: %v, format %d, %s", err, format(), out)
	}
	if out, err := command("store", "upgrade"); err != nil || !strings.HasPrefix(out, "Upgraded the store to format ") || format() <= 1 {
		t.Errorf("once it has ended: %v, format %d, %s", err, format(), out)
	}
	if out, err := command("store", "upgrade"); err != nil || !strings.HasPrefix(out, "The store has the format of this unitd") {
		t.Errorf("again: %v, %s", err, out)
	}
}

// TestHostAFormerStoreInEtcdIsUpgraded: to look leaves it as it is.
func TestHostAFormerStoreInEtcdIsUpgraded(t *testing.T) {
	t.Parallel()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("../../state/testdata/formats/2.etcd.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	url := etcdtest.URL(t)
	etcdtest.Load(t, url, f)
	data := filepath.Join(t.TempDir(), "data")
	for _, step := range []struct{ args, want string }{
		{"--dry-run", "can be upgraded"}, {"--dry-run", "can be upgraded"},
		{"", "Upgraded the store to format " + etcd.Format}, {"--dry-run", "The store has the format of this unitd"},
	} {
		cmd := exec.Command(filepath.Join(bin, "unitd"), append([]string{"store", "upgrade", "--store", url}, strings.Fields(step.args)...)...)
		cmd.Env = append(os.Environ(), "UNITD_DATA="+data)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), step.want) {
			t.Errorf("upgrade %s: %v, %s", step.args, err, out)
		}
	}
}

// formerStore makes a store of format 1, and tells the format that it has.
func formerStore(t *testing.T, path string) (format func() int) {
	t.Helper()
	s, err := sqlite.Open(path, sqlite.Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.ExecContext(t.Context(), "DROP TABLE boot; PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	return func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}
