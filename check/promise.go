package check

import "slices"

// Promise is one of the things that a charm has to keep; docs/charm-promises.md explains each.
type Promise struct {
	// Name is what it is called in commands and reports, Title in words.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Why says what goes wrong where it isn't kept.
	Why string `json:"why"`
}

// The names of the promises.
const (
	Settles            = "settles"
	EmptyDatabag       = "empty-databag"
	OrderOfRelations   = "order-of-relations"
	Twice              = "twice"
	Killed             = "killed"
	InterruptedInstall = "interrupted-install"
	Upgrade            = "upgrade"
	WrongConfig        = "wrong-config"
	RelationAgain      = "relation-again"
	LastUnit           = "last-unit"
	LeaderLost         = "leader-lost"
	Secrets            = "secrets"
	RemoteGone         = "remote-gone"
	Container          = "container"
	UpdateStatus       = "update-status"
	StorageGone        = "storage-gone"
	AMonth             = "a-month"
	Removal            = "removal"
	NoSecretsShown     = "no-secrets-shown"
	Frugal             = "frugal"
	OwnPlaces          = "own-places"
	NoProcesses        = "no-processes"
)

// Promises are all, in the order of their page.
func Promises() []Promise {
	return []Promise{
		{Settles, "It settles", "If what hooks write triggers more hooks for ever, all units of both applications stay busy."},
		{EmptyDatabag, "It waits for what isn't there yet", "A remote unit may join with an empty databag, and fill it key by key, perhaps an hour later."},
		{OrderOfRelations, "Relations come in any order", "Nothing guarantees that the database comes before the consumer."},
		{Twice, "A hook that runs twice has the effect of one run", "If an agent is killed before it records a run, it runs the hook again."},
		{Killed, "A hook may be killed at any moment", "What a killed hook wrote to the model is dropped, but what it did on the machine stays."},
		{InterruptedInstall, "An interrupted install succeeds later", "The longest hook is the one that is killed most often, and its second run finds what the first left half done."},
		{Upgrade, "An upgrade keeps what was there", "After a refresh, the new code finds the files and databags of the former version."},
		{WrongConfig, "A wrong option blocks the unit", "A hook that fails on a wrong value runs again and again, and people see a traceback instead of a message."},
		{RelationAgain, "A relation that is gone leaves nothing behind", "What is left of a relation is used by mistake, or gets in the way of the next one."},
		{LastUnit, "The last unit may leave", "A relation outlives the units on its other side, and an application outlives its own units."},
		{LeaderLost, "Leadership may be lost at any time", "The next leader has to do what the last one couldn't do any more."},
		{Secrets, "Secrets change, and can be taken away", "While its consumer runs, a secret can get a new revision, or the consumer can lose access to it."},
		{RemoteGone, "A remote unit may go", "A charm may still use or count a unit that has left."},
		{Container, "The container may be down", "Kubernetes restarts a workload container whenever it likes, so any hook may find the container down."},
		{UpdateStatus, "update-status may come at any time", "This hook runs in whatever state the unit is in, for as long as the unit lives."},
		{StorageGone, "Storage comes and goes", "What was on detached storage has to be somewhere else then."},
		{AMonth, "A month may pass", "Secrets are rotated and expire, and whatever a hook makes on each run adds up."},
		{Removal, "It can be removed", "A unit whose last hooks fail stays in the model for ever."},
		{NoSecretsShown, "Secrets are shown nowhere", "Logs, statuses and databags are read by people who must not know the passwords."},
		{Frugal, "Hooks are short, and call few tools", "A unit runs one hook at a time: while one waits, nothing else happens."},
		{OwnPlaces, "It writes only to its own places", "Files in home and temporary directories get in other people's way, and pile up."},
		{NoProcesses, "A hook leaves no process behind", "Nobody supervises a process that a hook leaves behind, and nobody stops it."},
	}
}

// Known says whether there is a promise of that name.
func Known(name string) bool {
	return slices.ContainsFunc(Promises(), func(p Promise) bool { return p.Name == name })
}
