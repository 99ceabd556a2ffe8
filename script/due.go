package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/script/lab"
)

// due are the faults that the script counts on and that haven't happened, one on each line. An
// agent that has ended can't be asked: those that it had are gone with it.
func (w *world) due() string {
	if _, err := w.running(); err != nil {
		return ""
	}
	answer, err := w.tell(lab.Request{})
	if err != nil {
		return ""
	}
	var lines []string
	for _, f := range answer.Armed {
		if f.Due {
			lines = append(lines, fmt.Sprintf("%s has never happened: %s has run no such hook, or didn't get there in it", faultWords(f), f.Unit))
		}
	}
	return strings.Join(lines, "\n")
}

// faultWords is a fault in the words of scripts.
func faultWords(f lab.Fault) string {
	words := []string{map[lab.FaultKind]string{
		lab.FailHook: "fail", lab.HangHook: "hang", lab.Kill: "kill-agent", lab.Depose: "lose-leadership", lab.Ask: "during", lab.RunAs: "run-hook-as",
	}[f.Do]}
	if f.Application != "" {
		words = append(words, f.Application)
	}
	if f.Tool != "" {
		words = append(words, "after")
		if f.Call > 0 {
			words = append(words, strconv.Itoa(f.Call))
		}
		words = append(words, f.Tool)
	}
	words = append(words, string(f.Unit), f.Hook)
	return strings.Join(slices.Concat(words, f.Command), " ")
}

// stillDue is why a script that has come to its end has failed all the same, with how its world
// looks: a fault that it has asked for didn't happen, so that nothing was tried. Empty: all did, or
// it isn't such a script. In the ways of an exploration faults may come too late, and those who
// use a door see to it themselves.
func (e *engine) stillDue(t watched, w *world) string {
	if *t.ended || e.door != nil || e.ways {
		return ""
	}
	due := w.due()
	if due == "" {
		return ""
	}
	return fmt.Sprintf("FAIL: %s: %s\n%s", w.file, due, w.report())
}
