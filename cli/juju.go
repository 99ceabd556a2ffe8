package cli

import (
	"slices"
)

// Likeness says how a command of Juju's is in unitd.
type Likeness string

// What there is to say of a command.
const (
	// Alike: who knows Juju's knows unitd's.
	Alike Likeness = "alike"
	// Differs: it does the same, but for what is said beside it.
	Differs Likeness = "differs"
	// Recorded: what it is told is kept and shown again, and has no effect.
	Recorded Likeness = "recorded"
	// Refused: it is there, and says why it can't do it.
	Refused Likeness = "refused"
	// Absent: there is no such verb. Who calls it is told why.
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
