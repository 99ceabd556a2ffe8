package script_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/nftables"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
)

// TestHostAScriptThatFailsLeavesNoFaults of the network on the host.
func TestHostAScriptThatFailsLeavesNoFaults(t *testing.T) {
	t.Parallel()
	mayIsolate(t)
	if err := isolate.CanFault(false); err != nil {
		t.Skipf("skipped: %v", err)
	}
	device := filepath.Join(t.TempDir(), "device")
	const text = `deploy ./app
settle
network app/0 down
exec sh -c 'ip -o -4 address show to $(sed "s/.*\"subnet\":\"\([^\"]*\)\".*/\1/" .unitd/cells/network.json) | sed "s/^[0-9]*: *\([a-z0-9]*\) .*/\1/" >DEVICE'
network app/0 loss 10%
exec false
-- app/metadata.yaml --
name: app
`
	outcomes := suite(t, map[string]string{"fails": strings.ReplaceAll(text, "DEVICE", device)}, func(s *script.Suite) { s.Isolate = model.IsolateOn })
	b, err := os.ReadFile(device)
	name := strings.TrimSpace(string(b))
	if err != nil || !strings.HasPrefix(name, "unitd") || outcomes[0].Outcome != script.Failed {
		t.Fatalf("the network is %q, %v; the script: %+v", name, err, outcomes)
	}
	tables, err := (&nftables.Conn{}).ListTablesOfFamily(nftables.TableFamilyBridge)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if strings.HasPrefix(table.Name, name) {
			t.Errorf("%s is left", table.Name)
		}
	}
}
