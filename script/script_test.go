package script_test

import (
	"testing"

	"github.com/unitd/unitd/script"
)

// TestScripts runs unitd's own behaviour as scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	script.Run(t, "testdata/script")
}
