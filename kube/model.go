package kube

import (
	"encoding/json"
	"fmt"
	"time"
)

// Model is what the objects are derived from, as plain values. Whoever reads the
// model fills it; what isn't known is zero.
type Model struct {
	// Name is the model's, and that of the Kubernetes namespace.
	Name    string
	UUID    string
	Created time.Time
	// Applications are those with containers.
	Applications []Application
}

// Application is one whose units are pods.
type Application struct {
	Name string
	// ID tells it from others that had or will have the name.
	ID      string
	Created time.Time
	// Address is one that reaches its units; "" where there is none.
	Address string
	// Ports are those that its units have opened.
	Ports []Port
	// Scale is how many units it is to have.
	Scale int
	// CharmImage is what the charm container is said to run.
	CharmImage string
	Workloads  []Workload // in the order of names
	Units      []Unit     // in the order of numbers
}

// Port is an opened one.
type Port struct {
	Number   int
	Protocol string // TCP or UDP
}

// Workload is a container beside the charm's.
type Workload struct {
	Name     string
	Image    string
	UID, GID *int
	Mounts   []Mount
}

// Mount is a storage in a container.
type Mount struct {
	Storage  string
	Location string
	ReadOnly bool
}

// Unit is one pod.
type Unit struct {
	Number int
	// ID tells the pod from those that had the name before: it is another one
	// after pod churn.
	ID      string
	Address string
	// Node is the name of the host.
	Node    string
	Created time.Time
	// Containers are what is known of each container, in any order.
	Containers []Container
	// Template is the one that the pod was started with: the value that
	// TemplateOf gave then. nil for the model's own.
	Template json.RawMessage
}

// Container is the state of one container of a unit.
type Container struct {
	Name    string // "charm", or the workload's
	ImageID string
	// Running says that its first process is there; Ready that Pebble answers.
	Running, Ready bool
	Restarts       int
	Started        time.Time
}

// pod is the name of the unit's pod.
func (a Application) pod(u Unit) string { return fmt.Sprintf("%s-%d", a.Name, u.Number) }

// container is the state of the named container of the unit.
func (u Unit) container(name string) Container {
	for _, c := range u.Containers {
		if c.Name == name {
			return c
		}
	}
	return Container{Name: name}
}
