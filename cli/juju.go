package cli

import (
	"slices"
)

// Likeness says how like Juju's a command of unitd is.
type Likeness string

// The kinds of likeness.
const (
	// Alike: it works as in Juju.
	Alike Likeness = "alike"
	// Differs: it does the same, except for what How says.
	Differs Likeness = "differs"
	// Recorded: unitd keeps the values and shows them again; they have no effect.
	Recorded Likeness = "recorded"
	// Refused: it exists, and says why it can't do what it is asked.
	Refused Likeness = "refused"
	// Absent: there is no such verb. Calling it prints why.
	Absent Likeness = "absent"
)

// JujuCommand is one of the commands of Juju 3.6.
type JujuCommand struct {
	Name string
	// Aliases are its other names in Juju.
	Aliases []string
	Is      Likeness
	// How says how it differs, what is recorded, or why it is refused or absent: half a
	// sentence. Empty where it is alike.
	How string
	// Shown is the script in cmd/unitd/testdata/script that shows it. What is absent
	// needs none.
	Shown string
}

// absence is the reason for which there is no command of that name, which Juju has;
// empty: Juju doesn't have it either, or unitd has it too.
func absence(name string) string {
	for _, c := range JujuCommands() {
		if c.Is == Absent && (c.Name == name || slices.Contains(c.Aliases, name)) {
			return c.How
		}
	}
	return ""
}
