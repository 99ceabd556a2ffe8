package hookcontext

import (
	"fmt"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// allEndpoints is the endpoint that stands for all of them in model.Ports.
const allEndpoints = ""

// OpenedPorts are the unit's ports as the hook has left them.
func (c *Context) OpenedPorts() (model.Ports, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.askPorts(); err != nil {
		return nil, errors.Trace(err)
	}
	return c.currentPorts().Clone(), nil
}

// OpenPort opens a range for some endpoints, or for all if none is named. What
// is open already stays so. Errors: NotFound for an endpoint that the charm
// hasn't, and AlreadyExists where the range overlaps one of another unit of
// the machine, or another one of this unit. Source: docs/spec/hook-tools.md §7.2.
func (c *Context) OpenPort(r model.PortRange, endpoints []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkPort(r, endpoints); err != nil {
		return errors.Trace(err)
	}
	if err := c.portConflict("open", r); err != nil {
		return errors.Trace(err)
	}
	ports := c.currentPorts()
	switch {
	case forAll(endpoints):
		ports = ports.Apply(closing(r, slices.Collect(maps.Keys(ports))))
		ports = ports.Apply(opening(r, []string{allEndpoints}))
	case !slices.Contains(ports[allEndpoints], r):
		ports = ports.Apply(opening(r, endpoints))
	}
	c.wantPorts = ports
	return nil
}

// ClosePort closes a range for some endpoints, or for all if none is named.
// Closing for some what is open for all leaves it open for the others. What is
// closed already stays so. Errors: NotFound for an endpoint that the charm
// hasn't, and AlreadyExists where the range overlaps one of another unit of the
// machine, or one of this unit that isn't the same. Source:
// docs/spec/uniter-facts.md §6.4.
func (c *Context) ClosePort(r model.PortRange, endpoints []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkPort(r, endpoints); err != nil {
		return errors.Trace(err)
	}
	if err := c.portConflict("close", r); err != nil {
		return errors.Trace(err)
	}
	ports := c.currentPorts()
	switch {
	case forAll(endpoints):
		ports = ports.Apply(closing(r, slices.Collect(maps.Keys(ports))))
	case slices.Contains(ports[allEndpoints], r):
		others := slices.DeleteFunc(c.endpoints(), func(ep string) bool { return slices.Contains(endpoints, ep) })
		ports = ports.Apply(closing(r, []string{allEndpoints}))
		ports = ports.Apply(opening(r, others))
	default:
		ports = ports.Apply(closing(r, endpoints))
	}
	c.wantPorts = ports
	return nil
}

// checkPort refuses what the commit would refuse, and makes sure that the
// ports are known.
func (c *Context) checkPort(r model.PortRange, endpoints []string) error {
	if err := r.Validate(); err != nil {
		return errors.Trace(err)
	}
	if err := c.checkContainerPort(r); err != nil {
		return errors.Trace(err)
	}
	known := c.endpoints()
	for _, ep := range endpoints {
		if ep != allEndpoints && !slices.Contains(known, ep) {
			return errors.NewNotFound(nil, fmt.Sprintf("endpoint %q not found", ep))
		}
	}
	_, err := c.askPorts()
	return errors.Trace(err)
}

// checkContainerPort refuses what the service of a container application can't have.
// Source: docs/spec/containers.md §6, K-106, K-107.
func (c *Context) checkContainerPort(r model.PortRange) error {
	switch {
	case !c.p.Charm.Sidecar():
	case r.Protocol == "icmp":
		return errors.NewNotSupported(nil, "protocol icmp on caas models not supported")
	case r.From != r.To:
		return errors.NewNotSupported(nil, "port ranges are not supported for k8s applications, please specify a single port")
	}
	return nil
}

// endpoints are those that a port can be opened for: the charm's relations,
// the implicit one, and extra bindings.
func (c *Context) endpoints() []string {
	names := append([]string{model.JujuInfo}, c.p.Charm.Bindings...)
	names = slices.AppendSeq(names, maps.Keys(c.p.Charm.Endpoints))
	slices.Sort(names)
	return slices.Compact(names)
}

// portConflict refuses to open or close a range that is another unit's, or a
// part of an own one; the ports must be known.
func (c *Context) portConflict(verb string, r model.PortRange) error {
	for _, unit := range slices.SortedFunc(maps.Keys(c.ports.value), model.CompareUnits) {
		if unit == c.p.Unit {
			continue
		}
		for _, other := range c.ports.value[unit].All() {
			if r.Conflicts(other) {
				return c.conflictError(verb, r, other, unit, "")
			}
		}
	}
	committed := c.ports.value[c.p.Unit].All()
	for _, other := range c.currentPorts().All() {
		if other == r || !r.Conflicts(other) {
			continue
		}
		when := ""
		if !slices.Contains(committed, other) {
			when = " requested earlier"
		}
		return c.conflictError(verb, r, other, c.p.Unit, when)
	}
	return nil
}

func (c *Context) conflictError(verb string, r, other model.PortRange, unit model.UnitName, when string) error {
	return errors.NewAlreadyExists(nil, fmt.Sprintf("cannot %s %s (unit %q): port range conflicts with %s (unit %q)%s",
		verb, r, c.p.Unit, other, unit, when))
}

func (c *Context) askPorts() (map[model.UnitName]model.Ports, error) {
	ports, err := c.ports.get(c.p.View.Ports)
	if errors.Is(err, errors.NotFound) {
		err = nil // no unit of the machine has opened any
	}
	return ports, errors.Annotate(err, "cannot read opened ports")
}

// currentPorts are the unit's ports with what the hook did; they must be known.
func (c *Context) currentPorts() model.Ports {
	if c.wantPorts != nil {
		return c.wantPorts
	}
	return c.ports.value[c.p.Unit]
}

// portChanges is the way from the ports that were to those that shall be. What
// closes comes first, so that no step on the way is a conflict.
func (c *Context) portChanges() []model.PortChange {
	if c.wantPorts == nil {
		return nil
	}
	were := c.ports.value[c.p.Unit]
	return append(
		missing(were, c.wantPorts, true),
		missing(c.wantPorts, were, false)...)
}

// missing lists the ranges of a that b hasn't, by endpoint and range.
func missing(a, b model.Ports, closed bool) []model.PortChange {
	var out []model.PortChange
	for _, ep := range slices.Sorted(maps.Keys(a)) {
		for _, r := range a[ep] {
			if !slices.Contains(b[ep], r) {
				out = append(out, model.PortChange{Endpoint: ep, Range: r, Close: closed})
			}
		}
	}
	return out
}

func forAll(endpoints []string) bool {
	return len(endpoints) == 0 || slices.Contains(endpoints, allEndpoints)
}

func opening(r model.PortRange, endpoints []string) []model.PortChange {
	var out []model.PortChange
	for _, ep := range endpoints {
		out = append(out, model.PortChange{Endpoint: ep, Range: r})
	}
	return out
}

func closing(r model.PortRange, endpoints []string) []model.PortChange {
	out := opening(r, endpoints)
	for i := range out {
		out[i].Close = true
	}
	return out
}
