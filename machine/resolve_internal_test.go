package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/names"
)

// TestTheResolversOfAUnitAreThoseOfItsHost, also where that has come into another
// network since, or had while no agent ran; what the unit has written itself stays.
func TestTheResolversOfAUnitAreThoseOfItsHost(t *testing.T) {
	t.Parallel()
	for _, short := range []bool{false, true} {
		dir := t.TempDir()
		file := filepath.Join(dir, "resolv.conf")
		host := "nameserver 192.0.2.1\nsearch home\n"
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		// entered is an agent that takes the unit on.
		entered := func() (*wiring, *wired) {
			w := &wiring{wired: map[string]*wired{}, resolvers: func(bool) (string, bool) { return host, true }}
			w.begin(nil, nil)
			one := &wired{
				own: names.Own{Model: "m", Unit: "app/0", Address: "10.0.0.2", Short: short}, record: filepath.Join(dir, "names", resolverRecord),
				edit: func(path string, edit func(string) string) error {
					return isolate.EditBound(filepath.Join(dir, filepath.Base(path)), edit)
				},
			}
			w.wired["unit-app-0"] = one
			w.write(one, nil)
			return w, one
		}
		want := func(what, servers string) {
			t.Helper()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(b); !strings.Contains(text, servers) || strings.Count(text, "nameserver") != 1 || short != strings.Contains(text, "search m.svc.cluster.local") {
				t.Errorf("short: %t, %s: it has %q", short, what, text)
			}
		}
		write(host)
		w, one := entered()
		want("at first", "nameserver 192.0.2.1\n")
		w.heedHost()
		pokes := w.pokes.Load()
		w.heedHost()
		if w.pokes.Load() != pokes {
			t.Error("the same network is looked at again")
		}
		host = "nameserver 198.51.100.1\n"
		w.heedHost()
		if w.pokes.Load() == pokes {
			t.Error("nobody looks at another network")
		}
		w.write(one, nil)
		want("in another network", "nameserver 198.51.100.1\n")
		host = "nameserver 203.0.113.1\n"
		entered()
		want("with another agent", "nameserver 203.0.113.1\n")

		own := strings.Replace(host, "203.0.113.1", "127.0.0.53", 1)
		if short {
			own = names.Resolv(own, "m")
		}
		write(own)
		host = "nameserver 192.0.2.1\n"
		w, one = entered()
		w.write(one, nil)
		want("with its own", "nameserver 127.0.0.53\n")
	}
}
