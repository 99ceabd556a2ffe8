package sqlite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

func TestAnotherProcessIsToldOfACommit(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	ch := watch(t, s, "", 0)
	c := start(t, path)
	for i := range 10 {
		key := fmt.Sprint("k/", i)
		c.do("put %s", key)
		await(t, ch, key, false)
		if value(t, s, key) != "v" {
			t.Fatalf("told of %s, which isn't there", key)
		}
	}
	c.finish()
}

func TestProcessesLoseNoneOfTheirIncrements(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	const each = 60
	// They also make the file together.
	var children []*child
	for i := range 4 {
		c := start(t, path)
		c.ask("%s %d", []string{"durable", "relaxed"}[i%2], each)
		children = append(children, c)
	}
	s := open(t, path, sqlite.Options{})
	for range each {
		if err := addOne(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range children {
		if line := c.line(); line != "done" {
			t.Fatalf("a child said %q", line)
		}
		c.finish()
	}
	if got, want := value(t, s, "n"), fmt.Sprint(each*5); got != want {
		t.Fatalf("counted to %s, want %s", got, want)
	}
	sound(t, path)
}

// sound checks the database as a whole.
func sound(t testing.TB, path string) {
	t.Helper()
	var verdict string
	if err := raw(t, path).QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("the database isn't sound: %q, %v", verdict, err)
	}
}

func TestWhatAKilledWriterReportedIsThereAndNothingHalf(t *testing.T) {
	t.Parallel()
	for _, durability := range []string{"durable", "relaxed"} {
		for _, after := range []int{1, 37, 200} {
			t.Run(fmt.Sprintf("%s after %d", durability, after), func(t *testing.T) {
				t.Parallel()
				killWriter(t, durability, after)
			})
		}
	}
}

func killWriter(t *testing.T, durability string, after int) {
	path := dbPath(t)
	watching := open(t, path, sqlite.Options{})
	ch := watch(t, watching, "k/", 0)
	c := start(t, path)
	c.ask("stream %s", durability)
	var said []string
	for range after {
		said = append(said, c.line())
	}
	said = append(said, c.kill()...)
	reported, rev := lastReport(t, said)
	s := open(t, path, sqlite.Options{})
	head, err := s.View(t.Context(), func(r store.Reader) error {
		kvs, err := r.List("k/")
		if err != nil {
			return err
		}
		values := map[string]bool{}
		for _, kv := range kvs {
			values[string(kv.Value)] = true
			if kv.Rev != r.Rev() {
				t.Errorf("%s is of revision %d, want %d", kv.Key, kv.Rev, r.Rev())
			}
		}
		// The last commit may have been made and not yet been reported.
		if len(kvs) != streamKeys || len(values) != 1 || (!values[fmt.Sprint(reported)] && !values[fmt.Sprint(reported+1)]) {
			t.Errorf("commit %d was reported last, but the %d keys have %v", reported, len(kvs), values)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if head != rev && head != rev+1 {
		t.Errorf("revision %d was reported last, but the newest is %d", rev, head)
	}
	// Told of to its end, even if the writer was killed before it could tell.
	for told := int64(0); told < head; {
		select {
		case b := <-ch:
			told = b.Rev
		case <-time.After(5 * time.Minute):
			t.Fatalf("told up to revision %d, not %d", told, head)
		}
	}
	if next := update(t, s, func(tx store.Tx) error { return tx.Put("k/0", nil) }); next != head+1 {
		t.Errorf("the next revision is %d, want %d", next, head+1)
	}
	sound(t, path)
}

// lastReport reads the number and the revision of the last whole line.
func lastReport(t *testing.T, said []string) (number int, rev int64) {
	t.Helper()
	for _, line := range slices.Backward(said) {
		if n, err := fmt.Sscan(line, &number, &rev); n == 2 && err == nil {
			return number, rev
		}
	}
	t.Fatal("the child reported no commit")
	return 0, 0
}

func TestACommitThatWasNeverAnnouncedIsToldAllTheSame(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	ch := watch(t, s, "", 0)
	// What a process leaves that is killed between its commit and telling of it.
	conn := raw(t, path)
	execute(t, conn, `BEGIN IMMEDIATE;
		INSERT INTO change SELECT rev + 1, 'quiet', 0 FROM head;
		INSERT INTO kv SELECT 'quiet', x'76', rev + 1, rev + 1, 0 FROM head;
		UPDATE head SET rev = rev + 1;
		COMMIT`)
	await(t, ch, "quiet", false)
	if got := value(t, s, "quiet"); got != "v" {
		t.Fatalf("the key has %q", got)
	}
}

func TestATransactionOfAKilledProcessIsGoneWithItsLock(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	c := start(t, path)
	c.ask("hang")
	if line := c.line(); line != "hanging" {
		t.Fatalf("the child said %q", line)
	}
	c.kill()
	update(t, s, func(tx store.Tx) error { return tx.Put("a", nil) })
	if _, err := s.View(t.Context(), func(r store.Reader) error {
		kvs, err := r.List("")
		if len(kvs) != 1 || kvs[0].Key != "a" {
			t.Errorf("found %v, want a alone", kvs)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestTheLeaseOfAKilledProcessExpires(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	ch := watch(t, s, "", 0)
	c := start(t, path)
	c.do("lease 300ms")
	c.kill()
	await(t, ch, "leased", true)
}

// Closing any descriptor of a file drops all locks that the process has on it,
// also those that SQLite believes it has.
func TestASecondStoreOfAProcessDoesNotCostTheFirstItsLocks(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	first := open(t, path, sqlite.Options{})
	update(t, first, func(tx store.Tx) error { return tx.Put("a", []byte("1")) })
	second := open(t, path, sqlite.Options{})
	c := start(t, path)
	c.ask("locked")
	if got := c.line(); got != "true" {
		t.Errorf("another process sees the database locked: %s, want true", got)
	}
	c.kill()
	c = start(t, path)
	c.do("put b")
	c.finish()
	update(t, second, func(tx store.Tx) error { return tx.Put("c", []byte("1")) })
	for _, key := range []string{"a", "b", "c"} {
		if value(t, first, key) == "" || value(t, second, key) == "" {
			t.Errorf("%s is lost", key)
		}
	}
	sound(t, path)
}

func TestADurableCommitCostsOneSyncAndARelaxedOneNone(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here")
	}
	if err := exec.Command(strace, "-f", "-o", os.DevNull, "true").Run(); err != nil {
		t.Skipf("strace may not trace here: %v", err)
	}
	syncs := func(request string) int {
		log := filepath.Join(t.TempDir(), "trace")
		c := start(t, dbPath(t), strace, "-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync", "-o", log)
		c.do("%s", request)
		c.finish()
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "sync(") + strings.Count(string(b), "sync_file_range(")
	}
	for _, tt := range []struct {
		durability string
		want       int
	}{{"durable", 40}, {"relaxed", 0}, {"mixed", 20}} {
		// The difference leaves out what opening and closing cost.
		few, many := syncs(tt.durability+" 10"), syncs(tt.durability+" 50")
		if many-few != tt.want {
			t.Errorf("40 more %s commits cost %d syncs more, want %d", tt.durability, many-few, tt.want)
		}
	}
}

// Not parallel, so that it measures delivery and not the other tests.
func TestAnotherProcessIsToldWithinMilliseconds(t *testing.T) {
	took := deliveries(t, dbPath(t), 51)
	if median := took[len(took)/2]; median > 20*time.Millisecond {
		t.Errorf("the median of %d deliveries took %v, want at most 20 ms", len(took), median)
	}
}

func BenchmarkDeliveryToAnotherProcess(b *testing.B) {
	took := deliveries(b, dbPath(b), max(b.N, 2))
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
}

// deliveries has another process commit n times and returns how long each took
// from before the commit until its event was here, the shortest first.
func deliveries(t testing.TB, path string, n int) []time.Duration {
	t.Helper()
	s := open(t, path, sqlite.Options{})
	ch := watch(t, s, "", 0)
	c := start(t, path)
	took := make([]time.Duration, n)
	for i := range took {
		c.ask("stamp stamp")
		await(t, ch, "stamp", false)
		arrived, committed := time.Now(), int64(0)
		if _, err := fmt.Sscan(value(t, s, "stamp"), &committed); err != nil {
			t.Fatal(err)
		}
		took[i] = arrived.Sub(time.Unix(0, committed))
		if line := c.line(); line != "done" {
			t.Fatalf("the child said %q", line)
		}
	}
	c.finish()
	slices.Sort(took)
	return took
}
