package cli

import (
	"github.com/unitd/unitd/script"
)

// watchScripts runs scripts, and those that a change touches again, until Ctrl-C.
func (a testVerbs) watchScripts(s *script.Suite, args []string, f testFlags) error {
	find := func() ([]string, error) { return findScripts(args) }
	return s.Watch(a.Context(), find, func(outcomes []script.Outcome, err error) {
		if err != nil {
			a.Note("ERROR %v", err)
		} else if !f.json {
			a.printf("%s\n", counted(outcomes))
		}
		a.Note("watching the scripts and their charms; Ctrl-C ends")
	})
}
