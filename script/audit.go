package script

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/unitd/unitd/audit"
)

// audit fails a script in whose world a unit broke a guarantee, whatever the
// script has looked at. The agent has ended.
func (e *engine) audit(t testscript.T, w *world) {
	if err := audit.Dir(w.dir); err != nil {
		t.Log(err)
		t.FailNow()
	}
}
