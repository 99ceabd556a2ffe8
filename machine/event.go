package machine

import (
	"time"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
)

// EventKind says what an Event tells.
type EventKind string

// The kinds of event.
const (
	HookRun EventKind = "hook" // a hook run has ended: Run
	LogLine EventKind = "log"  // a line of the unit's log: Log
	// HookWait is that a unit waits for its turn to run a hook, or doesn't any more: Wait.
	HookWait EventKind = "wait"
	// ImageFetch is how far the image of one of the unit's containers is: Image.
	ImageFetch EventKind = "image"
)

// Event is something that a person who watches an agent may want to see.
type Event struct {
	Kind  EventKind
	Model string
	Unit  model.UnitName
	Run   history.Entry
	Log   debuglog.Entry
	Image oci.Progress
	Wait  Wait
}

// Wait is that of a unit for its turn. Each that has begun is over once.
type Wait struct {
	Over bool
	Took time.Duration // if it is over
}
