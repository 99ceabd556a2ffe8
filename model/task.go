package model

import "strings"

// TaskOutcome is how a task has ended: what people are told of it.
type TaskOutcome struct {
	// Failed: the action didn't run, has failed, or has said that it did.
	// Commands fail only where they were ended; otherwise their Code says.
	Failed bool
	// Message says why, or what action-fail was given.
	Message string
	// Code is the exit code; -1 where a signal ended it. Ran: there is one.
	Code int
	Ran  bool
	// Stdout and Stderr are what it printed, each line with its end; of more than
	// a task can keep, only the end of it, after so many bytes that are left out.
	Stdout, Stderr         string
	StdoutLost, StderrLost int
	// Results are what action-set was given: text, or a map of such.
	Results map[string]any
}

// ShellLine is a script for a shell that runs the command with those words; one
// word is a script already.
func ShellLine(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
	}
	return strings.Join(quoted, " ")
}
