// Package workload has the workload containers of one unit running, each with a
// real Pebble as its first process, and tells what their Pebbles say.
//
//	Unit.Set ──▶ one goroutine for each container, in a circle:
//	             image ─▶ cell ─▶ runs ─▶ has ended ─▶ back-off ─▶ image …
//	                        │       ├─ watch:  boot id, notices, checks ─▶ State
//	                        │       ├─ probe:  alive checks ─▶ stopped, as by a kubelet
//	                        │       └─ ready checks ─▶ State
//	                        └─ one that a former agent has left running is taken over
//
// A container ends with its unit, or where a set without it is wanted; never with
// its agent. So an agent that is restarted, or killed, finds containers as they
// are, and what has happened meanwhile is told by their Pebbles.
//
// Each start begins with a fresh root: what was pushed into it has gone; the
// scratch directory, with Pebble's own state, and storage stay. What is in the
// scratch directory belongs to one set of containers of the unit: whoever replaces
// the set clears it.
//
// Times of back-off are those of the agent's clock; checks and probes go by the
// host's, as Pebble does.
//
// Source: docs/spec/containers.md §4, §5.
package workload

import (
	"time"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble"
)

// Where things are in a workload container. Source: docs/spec/containers.md §4.3.
const (
	// Scratch is the directory that it shares with the charm's.
	Scratch = "/charm/container"
	// Program is Pebble.
	Program = "/charm/bin/pebble"
	// socket and state are Pebble's, in Scratch.
	socket = "pebble.socket"
	state  = "pebble"
)

// FirstPort is the HTTP port of the Pebble in the first of a unit's containers, by
// name; the others follow. Source: docs/spec/containers.md §4.1.
const FirstPort = 38813

// Grace is how long a container has between TERM and KILL. Source:
// docs/spec/containers.md §3.5.
const Grace = 30 * time.Second

// Container says what a workload container is to be. Two that are equal are the
// same container.
type Container struct {
	// Name is that of the charm's metadata.
	Name string
	// Key is that of its cell; see isolate.ContainerKey. ID tells the unit, and
	// which of its sets of containers this one is of, from others.
	Key, ID string
	// Hostname is the unit's.
	Hostname string
	// Image is where its root comes from, and Digest which image that is.
	Image  oci.Source
	Digest string
	// Port is that of Pebble's HTTP server.
	Port int
	// User is whom Pebble runs as.
	User User
	// Dir is the scratch directory on the host, and Log the file that gets what
	// Pebble prints.
	Dir, Log string
	// Data is the directory of the agent, of which nothing else is seen inside.
	Data string
	// Binds are what else of the host is seen inside, as storage. Env is added to
	// the image's environment.
	Binds []isolate.Bind
	Env   []string
	// Identities is the file of the host that Pebble reads who may do what from, beside
	// what is so by default; empty: none.
	Identities string
	Limits     isolate.Limits
}

// User says whom a container's processes run as; see Container.
type User struct {
	// Image: whom the image says, where UID or GID are nil; else those are 0.
	Image bool
	// UID and GID are what the charm's metadata says.
	UID, GID *int
	// Groups are those that it has besides. To the first one the scratch directory
	// belongs, so that the charm may write there; where there is none it is Pebble's
	// user's alone.
	Groups []int
}

// Phase is where a container is in its circle.
type Phase string

// The phases.
const (
	Fetching Phase = "fetching" // its image
	Starting Phase = "starting" // Pebble doesn't answer yet
	Running  Phase = "running"
	Waiting  Phase = "waiting" // until it is started again
	Stopped  Phase = "stopped" // by Hold
)

// Event is one of Pebble's, and when this agent first saw it, by its own clock:
// what is told of several containers goes by that.
type Event struct {
	pebble.Event
	Seen time.Time
}

// State is what is known of a container. It is a value.
type State struct {
	Name  string
	Phase Phase
	// Pebble is what its Pebble says, but for its events; Pebble.Boot is empty while
	// none answers.
	Pebble pebble.State
	// Events are those of its Pebble, in its order.
	Events []Event
	// Ready says whether it can serve.
	Ready Readiness
	// Restarts counts how often this agent has started it again.
	Restarts int
	// Fault says in a line what is wrong; empty: nothing. NoImage: that is that its
	// image can't be had.
	Fault   string
	NoImage bool
	// Until is when it is started again, or its image is tried again; zero where
	// it doesn't wait.
	Until time.Time
	// Lost is what it lacks; see isolate.Cell.Lost.
	Lost string
}
