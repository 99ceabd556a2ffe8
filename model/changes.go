package model

// Changes is what one hook run wrote, as one value: the hook's context fills
// it, state.CommitHook applies it in one transaction (docs/architecture.md,
// "One commit"). The zero value changes nothing. What is immediate by contract
// (status-set, juju-log) is not here.
type Changes struct {
	// Relations holds the settings that the hook wrote, by relation.
	Relations map[RelationID]RelationChange `json:"relations,omitempty"`
	// Ports are opened and closed in this order.
	Ports []PortChange `json:"ports,omitempty"`
	// State has the charm's key-value state: a nil value deletes its key.
	State map[string]*string `json:"state,omitempty"`
	// LeaderSettings are laid over the application's leader settings.
	LeaderSettings Settings `json:"leader-settings,omitempty"`
	// WorkloadVersion is what application-version-set was given; nil: not called.
	WorkloadVersion *string `json:"workload-version,omitempty"`
	// Secrets are what happens to secrets, each at most once, in the order in
	// which the hook first touched them.
	Secrets []SecretChange `json:"secrets,omitempty"`
	// Storage is how many instances storage-add asks for, by the charm's names.
	Storage map[string]int `json:"storage,omitempty"`
	// Epoch is that of the leadership under which the hook wrote what only a
	// leader may, as it was when it first asked whether it leads; 0 where it
	// wrote nothing of the kind. Source: docs/spec/hook-tools.md §4.
	Epoch int64 `json:"epoch,omitempty"`
	// Reboot is the wish of juju-reboot, to be met after the hook.
	Reboot Reboot `json:"reboot,omitempty"`
	// Requeue is the wish to be run again later; nil: none.
	Requeue *Requeue `json:"requeue,omitempty"`
}

// ByLeader says whether there is something in it that only a leader may write,
// or may be: whose a secret is, a change doesn't always say.
func (c Changes) ByLeader() bool {
	for _, r := range c.Relations {
		if len(r.Application) > 0 {
			return true
		}
	}
	return len(c.LeaderSettings) > 0 || len(c.Secrets) > 0
}

// RelationChange is what a hook wrote in one relation; both are laid over
// what is there by Settings.Apply.
type RelationChange struct {
	Unit        Settings `json:"unit,omitempty"`
	Application Settings `json:"application,omitempty"`
}

// Reboot says whether, and when, a hook asked for a reboot of the machine.
type Reboot string

// What juju-reboot can ask for.
const (
	NoReboot    Reboot = ""
	RebootAfter Reboot = "after" // once the hook has succeeded
	RebootNow   Reboot = "now"   // at once: the hook is ended and run again afterwards
)
