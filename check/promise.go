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
		{Settles, "It settles", "Hooks whose writes bring more hooks for ever keep all units of both applications busy."},
		{EmptyDatabag, "It waits for what isn't there yet", "A remote unit joins with an empty databag, and fills it key by key, perhaps an hour later."},
		{OrderOfRelations, "Relations come in any order", "Nobody promises that the database comes before the consumer."},
		{Twice, "A hook that runs twice has the effect of one run", "An agent that was killed before it noted a run has the hook run again."},
		{Killed, "A hook may be killed at any moment", "What a killed hook wrote to the model is dropped, and what it did on the machine stays."},
		{InterruptedInstall, "An interrupted install succeeds later", "The longest hook is the one that is killed most often, and its second run finds half of what the first did."},
		{Upgrade, "An upgrade keeps what was there", "After a refresh the new code finds the files and databags of the former."},
		{WrongConfig, "A wrong option blocks the unit", "A hook that fails on a wrong value is run again and again, and people see a traceback instead of a message."},
		{RelationAgain, "A relation that is gone leaves nothing behind", "What is left of a relation is used by mistake, or is in the way of the next one."},
		{LastUnit, "The last unit may leave", "A relation outlives the units on its other side, and an application its own."},
		{LeaderLost, "Leadership may be lost at any time", "What a deposed leader couldn't do any more is for the next one to do."},
		{Secrets, "Secrets change, and can be taken away", "A secret gets a new revision, or may be read no longer, while its consumer runs."},
		{RemoteGone, "A remote unit may go", "A unit that has left is still used, or counted."},
		{Container, "The container may be down", "A workload container is restarted by Kubernetes whenever it likes, and any hook may meet it so."},
		{UpdateStatus, "update-status may come at any time", "It runs in whatever state the unit is, for as long as the unit lives."},
		{StorageGone, "Storage comes and goes", "What was on storage that is detached has to be somewhere."},
		{AMonth, "A month may pass", "Secrets are rotated and expire, and what is made each time adds up."},
		{Removal, "It can be removed", "A unit whose last hooks fail stays in the model for ever."},
		{NoSecretsShown, "Secrets are shown nowhere", "Logs, statuses and databags are read by people who may not know passwords."},
		{Frugal, "Hooks are short, and call few tools", "A unit runs one hook at a time: nothing else happens while one waits."},
		{OwnPlaces, "It writes only to its own places", "Files in homes and temporary directories are in other people's way, and pile up."},
		{NoProcesses, "A hook leaves no process behind", "Nobody supervises a process that a hook has left, and nobody ends it."},
	}
}

// Known says whether there is a promise of that name.
func Known(name string) bool {
	return slices.ContainsFunc(Promises(), func(p Promise) bool { return p.Name == name })
}
