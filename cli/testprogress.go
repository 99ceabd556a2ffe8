package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/unitd/unitd/script"
	"github.com/unitd/unitd/terminal"
)

// silence is how long nothing may be told of scripts, where there is no terminal, before a
// line says that they run.
const silence = 30 * time.Second

// progress shows how far a run of scripts has come: on a terminal in a line that changes,
// else in a line now and then.
func (a testVerbs) progress() func(script.Progress) {
	if line := terminal.NewLine(a.Err); line != nil {
		return func(p script.Progress) {
			if len(p.Running) == 0 {
				line.Clear()
				return
			}
			line.Show(runningText(p), fmt.Sprintf("%d/%d", p.Done, p.Of))
		}
	}
	return nowAndThen(time.Now, func(p script.Progress) { a.Note("%d of %d done; running: %s", p.Done, p.Of, runningText(p)) })
}

// nowAndThen passes on the progress of scripts if nothing else was told for a while.
func nowAndThen(now func() time.Time, tell func(script.Progress)) func(script.Progress) {
	last := now()
	return func(p script.Progress) {
		switch {
		case len(p.Running) == 0:
			last = now() // a script has ended, which is told
		case now().Sub(last) >= silence:
			last = now()
			tell(p)
		}
	}
}

// runningText names the scripts that run longest.
func runningText(p script.Progress) string {
	const most = 3
	var words []string
	for i, r := range p.Running {
		if i == most {
			words = append(words, fmt.Sprintf("%d more", len(p.Running)-most))
			break
		}
		words = append(words, fmt.Sprintf("%s %s", r.Name, r.For.Round(time.Second)))
	}
	return strings.Join(words, ", ")
}
