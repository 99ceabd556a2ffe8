package state

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// ContainersDoc is what the agent of a unit tells of its workload containers.
type ContainersDoc struct {
	// Pod is which of the unit's sets of containers these are.
	Pod int `json:"pod,omitempty"`
	// Containers are they, by name.
	Containers []ContainerDoc `json:"containers"`
	// Next is the image for which the unit waits before it has other containers than
	// these; nil: it waits for none.
	Next *NextImage `json:"next,omitempty"`
}

// NextImage is one that a unit's next containers need and that isn't on the host yet.
type NextImage struct {
	Container string `json:"container"`
	Image     string `json:"image"`
	// Fault says in a line why it couldn't be had when it was last tried; empty: it is
	// being fetched.
	Fault string    `json:"fault,omitempty"`
	Since time.Time `json:"since"`
}

// ContainerState is where a workload container is, as people see it.
type ContainerState string

// The states of containers.
const (
	ContainerFetching ContainerState = "fetching" // its image
	ContainerStarting ContainerState = "starting" // its Pebble doesn't answer yet, or any more
	ContainerRunning  ContainerState = "running"
	ContainerWaiting  ContainerState = "waiting" // until it is started again, or its image is tried again
	ContainerStopped  ContainerState = "stopped" // until a person starts it again
	ContainerBarred   ContainerState = "barred"  // it can't run beside this unit, whatever agent there is
)

// ContainerDoc is a workload container of a unit, as its agent has told.
type ContainerDoc struct {
	Name string `json:"name"`
	// Image and Digest are those of the image that it is made from.
	Image  string         `json:"image"`
	Digest string         `json:"digest,omitempty"`
	State  ContainerState `json:"state"`
	// Since is since when it is in that state, of that start of its Pebble.
	Since time.Time `json:"since"`
	// Restarts counts how often it was started again, by whichever agent.
	Restarts int `json:"restarts"`
	// Fault says in a line why it isn't up; empty: it is, or is about to be.
	Fault string `json:"fault,omitempty"`
	// NoImage: what is wrong is that its image can't be had.
	NoImage bool `json:"no-image,omitempty"`
	// Boot is the boot id of the Pebble that has answered last, and Version that
	// Pebble's; empty: none ever has.
	Boot    string `json:"boot,omitempty"`
	Version string `json:"version,omitempty"`
	// Lost is what it lacks on this host.
	Lost string `json:"lost,omitempty"`
	// Checks and Services are those of its Pebble's plan, by name, as they were when
	// it last said that something had changed.
	Checks   []ContainerCheck   `json:"checks,omitempty"`
	Services []ContainerService `json:"services,omitempty"`
	// Failed are its hooks that have failed, hold nothing up, and are run again.
	Failed []FailedHook `json:"failed,omitempty"`
}

// ContainerCheck is a health check of a container's Pebble.
type ContainerCheck struct {
	Name string `json:"name"`
	// Level is alive, ready, or empty.
	Level string `json:"level,omitempty"`
	// Status is up, down or inactive.
	Status    string `json:"status"`
	Threshold int    `json:"threshold"`
}

// Down says whether the check has failed as often as its threshold says.
func (c ContainerCheck) Down() bool { return c.Status == "down" }

// ContainerService is a service of a container's Pebble.
type ContainerService struct {
	Name    string `json:"name"`
	Startup string `json:"startup"` // enabled or disabled
	// Current is active, inactive, backoff or error, since Since, which is zero if
	// it never ran.
	Current string    `json:"current"`
	Since   time.Time `json:"since,omitzero"`
}

// FailedHook is a hook of a container that has failed and holds nothing up.
type FailedHook struct {
	// Hook is its name, with the notice or check that it is about.
	Hook string `json:"hook"`
	// Reason is how it has failed last.
	Reason string `json:"reason"`
}

// Down says whether a container isn't up and waits: there was something wrong, and
// it is tried again later.
func (c ContainerDoc) Down() bool {
	return c.Fault != "" && c.State != ContainerStopped && !c.Barred()
}

// Barred says whether a container can't run beside its unit.
func (c ContainerDoc) Barred() bool { return c.State == ContainerBarred }

// ContainersWay is what to do about containers that are barred, as units stay isolated
// as they were deployed.
const ContainersWay = "remove the application, and deploy it with --isolate=auto"

// Coming says whether a container is about to be up, as far as is known.
func (c ContainerDoc) Coming() bool {
	return c.Fault == "" && (c.State == ContainerFetching || c.State == ContainerStarting)
}

// New says whether nothing of the container has ever answered.
func (c ContainerDoc) New() bool { return c.Boot == "" }

// tellContainers keeps what is told of a unit's containers, where it is news.
func (t *txn) tellContainers(unit model.UnitName, told ContainersDoc) error {
	var doc ContainersDoc
	if _, err := t.find(containersKey(unit), &doc); err != nil || doc.Same(told) {
		return errors.Trace(err)
	}
	return t.put(containersKey(unit), told)
}

// Same says whether two say the same: times are the same moments.
func (d ContainersDoc) Same(other ContainersDoc) bool {
	return reflect.DeepEqual(d.inUTC(), other.inUTC())
}

func (d ContainersDoc) inUTC() ContainersDoc {
	utc := func(t time.Time) time.Time { return t.UTC().Round(0) }
	d.Containers = slices.Clone(d.Containers)
	if d.Next != nil {
		next := *d.Next
		next.Since = utc(next.Since)
		d.Next = &next
	}
	for i, c := range d.Containers {
		d.Containers[i].Since = utc(c.Since)
		services := slices.Clone(c.Services)
		for j, s := range services {
			services[j].Since = utc(s.Since)
		}
		d.Containers[i].Services = services
	}
	return d
}

// Containers is what was told last of a unit's containers; zero: nothing was.
func (m *Model) Containers(ctx context.Context, unit model.UnitName) (told ContainersDoc, err error) {
	_, err = m.view(ctx, func(r docs) error {
		told = ContainersDoc{}
		_, err := r.find(containersKey(unit), &told)
		return errors.Trace(err)
	})
	return told, errors.Trace(err)
}

// containersOf is what was told of a unit's containers. Of a unit that isn't isolated
// nobody has to tell: they run beside isolated units alone, so they have been barred
// since then.
func (d docs) containersOf(u UnitDoc, app ApplicationDoc, since time.Time) (doc ContainersDoc, err error) {
	if !u.Pod {
		return doc, nil
	}
	if app.Isolation.On() {
		_, err = d.find(containersKey(u.Name), &doc)
		return doc, errors.Trace(err)
	}
	charm, err := d.charm(app.Charm)
	if err != nil {
		return doc, errors.Trace(err)
	}
	for _, name := range charm.Charm.ContainerNames() {
		doc.Containers = append(doc.Containers, ContainerDoc{Name: name, State: ContainerBarred, Since: since, Fault: "the unit isn't isolated"})
	}
	return doc, nil
}

// barred says in a line that containers can't run; empty: all can.
func (d ContainersDoc) barred() string {
	for _, c := range d.Containers {
		if c.Barred() {
			return "containers can't run, as " + c.Fault
		}
	}
	return ""
}

// shown is a unit's workload status as people see it who have these containers in
// view: what is wrong with a container says more than a charm that doesn't know
// it. Source: docs/spec/containers.md §6 (status-set).
func (d ContainersDoc) shown(workload model.Status) model.Status {
	quiet := workload.Status == model.StatusActive || workload.Status == model.StatusUnknown
	waits := workload.Status == model.StatusWaiting || workload.Status == model.StatusBlocked
	if text := d.barred(); text != "" && (quiet || waits) {
		return model.Status{Status: model.StatusBlocked, Message: text + ": " + ContainersWay, Since: workload.Since}
	}
	for _, c := range d.Containers {
		if c.Down() && c.NoImage && (quiet || waits) {
			return model.Status{Status: model.StatusError, Message: c.said(), Since: c.Since}
		}
	}
	if n := d.Next; n != nil && n.Fault != "" && (quiet || waits) {
		return model.Status{Status: model.StatusError, Message: n.said(), Since: n.Since}
	}
	for _, c := range d.Containers {
		if c.Down() && quiet {
			return model.Status{Status: model.StatusWaiting, Message: c.said(), Since: c.Since}
		}
	}
	for _, c := range d.Containers {
		if c.New() && c.State != ContainerStopped && quiet {
			return model.Status{Status: model.StatusWaiting, Message: "waiting for container", Since: c.Since}
		}
	}
	return workload
}

// said is what is wrong with the container, by its name.
func (c ContainerDoc) said() string { return "container " + c.Name + ": " + c.Fault }

// said is what is wrong with the image, by the name of its container.
func (n NextImage) said() string { return "container " + n.Container + ": " + n.Fault }
