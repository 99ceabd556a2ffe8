package hooks

import "github.com/juju/errors"

// The kinds of task: what a person has a unit do. They run as hooks do, one
// after the other with them, but they are none: the table of kinds has not got
// them, a charm is told nothing by them, and none puts its unit in error.
const (
	Action Kind = "action" // an action of the charm's: Info.Action
	Exec   Kind = "exec"   // commands for a shell
)

// IsTask says whether it is a task's run and no hook's.
func (i Info) IsTask() bool { return i.Kind == Action || i.Kind == Exec }

// HasRelation says whether the run is in a relation's context: that of a
// relation hook, or of commands that were asked to be run in one.
func (i Info) HasRelation() bool { return i.IsRelation() || i.Kind == Exec && i.Endpoint != "" }

// Path is where in the charm directory the executable is, if the charm has no
// dispatch: "hooks/install", "actions/backup"; empty for commands.
func (i Info) Path() string {
	switch i.Kind {
	case Action:
		return "actions/" + i.Action
	case Exec:
		return ""
	}
	return "hooks/" + i.Name()
}

func (i Info) validateTask() error {
	switch {
	case i.Task == "":
		return errors.NotValidf("%s without the id of its task", i.Kind)
	case i.Kind == Action && (i.Action == "" || i.Endpoint != ""):
		return errors.NotValidf("action %q with endpoint %q", i.Action, i.Endpoint)
	case i.Kind == Exec && i.Action != "":
		return errors.NotValidf("commands with an action")
	}
	return nil
}
