package script_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/script"
)

// TestAScriptWhoseUnitsBreakAGuaranteeFails although all its lines went well.
func TestAScriptWhoseUnitsBreakAGuaranteeFails(t *testing.T) {
	t.Parallel()
	outcomes := suite(t, map[string]string{"breaks": `# a claim
deploy ./app
settle
exec sh plant.sh
-- plant.sh --
for f in $UNITD_DATA/models/*/history/unit-app-0.jsonl; do
	grep '"name":"install"' $f >>line
	cat line >>$f
done
-- app/metadata.yaml --
name: app
`}, nil)
	if len(outcomes) != 1 || outcomes[0].Outcome != script.Failed {
		t.Fatalf("outcomes: %+v", outcomes)
	}
	for _, want := range []string{"app/0 broke a guarantee: install runs once", "    leader-elected\n"} {
		if !strings.Contains(outcomes[0].Output, want) {
			t.Errorf("the report hasn't %q:\n%s", want, outcomes[0].Output)
		}
	}
}
