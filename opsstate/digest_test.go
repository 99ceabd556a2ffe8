package opsstate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/opsstate"
)

// TestWhatMeansTheSameToOpsHasOneDigest: as Ops itself writes it.
func TestWhatMeansTheSameToOpsHasOneDigest(t *testing.T) {
	t.Parallel()
	const (
		count = "s.save_snapshot('StoredStateData[_stored]', {'event_count': %s})\n"
		word  = "s.save_snapshot('ShopCharm/StoredStateData[_stored]', {'word': '%s'})\n"
		event = "s.save_notice('ShopCharm/on/start[%s]', 'ShopCharm', '_on_start')\n"
		drop  = "s.drop_notice('ShopCharm/on/start[%s]', 'ShopCharm', '_on_start')\n"
	)
	digest := func(lines ...string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), opsstate.File)
		code := "import sys\nfrom ops.storage import SQLiteStorage\ns = SQLiteStorage(sys.argv[1])\n"
		for i := 0; i < len(lines); i += 2 {
			code += strings.Replace(lines[i], "%s", lines[i+1], 1)
		}
		write := exec.Command(python(t), "-c", code+"s.commit()\ns.close()\n", file)
		if out, err := write.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := opsstate.Digest(content)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	plain := digest(count, "20", word, "die")
	for _, c := range []struct {
		name string
		have string
		same bool
	}{
		{"events that were dealt with", digest(event, "3", drop, "3", count, "20", word, "die"), true},
		{"more events", digest(word, "die", count, "70000"), true},
		{"another value", digest(count, "20", word, "life"), false},
		{"no value", digest(count, "20"), false},
		{"an event that waits", digest(count, "20", word, "die", event, "3"), false},
	} {
		if (c.have == plain) != c.same {
			t.Errorf("%s: it means the same: %v", c.name, c.have == plain)
		}
	}
	// The number of a deferred event is taken from the count, so that counts then.
	if digest(count, "20", event, "3") == digest(count, "21", event, "3") {
		t.Error("with an event that waits the count is left out")
	}
	for _, bad := range [][]byte{nil, []byte("no database")} {
		if _, err := opsstate.Digest(bad); !errors.Is(err, errors.NotValid) {
			t.Errorf("of %d bytes: %v", len(bad), err)
		}
	}
}
