package model

import "time"

// Requeue is the wish of a hook that has succeeded to be run again later, by
// unitd-requeue. It is committed with what the hook wrote.
type Requeue struct {
	// At is the earliest time for that.
	At time.Time `json:"at"`
	// Reason says for people why, in the charm's words; it may be empty.
	Reason string `json:"reason,omitempty"`
}
