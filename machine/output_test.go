package machine_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/machine"
)

// TestUPRC4OutputIsLoggedWhole: lines of a megabyte, zero bytes, what isn't
// UTF-8, and a last line without an end, on both streams; and the agent lives.
func TestUPRC4OutputIsLoggedWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.charm("name: app\nsummary: s\n", `
[ "$JUJU_HOOK_NAME" = start ] || exit 0
for fd in 1 2; do
	{
		head -c 1048576 /dev/zero | tr '\0' x
		echo
		printf 'zero\000byte\n'
		printf 'no \377\376 text: \303\251\n'
		echo
		printf 'no end'
	} >&$fd
done
`), 1)
	w.settle()
	long := strings.Repeat("x", 1<<20)
	want := []string{long, "zero\x00byte", `no \xff\xfe text: é`, "", "no end"}
	for _, level := range []string{"DEBUG", "WARNING"} {
		var got []string
		for _, e := range w.logged("unit.app/0.start") {
			if e.Level == level {
				got = append(got, e.Message)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d lines", level, len(got))
			continue
		}
		for i, line := range want {
			if got[i] != line {
				t.Errorf("%s: line %d has %d bytes and isn't what was printed: %s", level, i, len(got[i]), strconv.Quote(got[i][:min(len(got[i]), 100)]))
			}
		}
	}
	if err := w.model.SetTrust(w.ctx, "app", true); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.wantHooks("app/0", append(boot, "config-changed")...)
}

// logged is what a module has logged.
func (w *world) logged(module string) []debuglog.Entry {
	w.t.Helper()
	var found []debuglog.Entry
	err := debuglog.ReadAll(machine.LogPath(w.dir, w.model.UUID()), func(e debuglog.Entry) error {
		if e.Module == module {
			found = append(found, e)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}
