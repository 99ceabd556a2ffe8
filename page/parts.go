package page

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Parts are the parts of a page by their keys.
type Parts map[string]any

// Encoded are parts as JSON.
type Encoded map[string]json.RawMessage

// Delta is what turns one set of parts into another.
type Delta struct {
	Set  Encoded  `json:"set,omitempty"`
	Gone []string `json:"gone,omitempty"` // sorted
}

// Event is what somebody who looks at a page gets: what has changed since the event
// before, or, in the first one, all; and new lines of the log.
type Event struct {
	Delta
	First bool  `json:"first,omitempty"`
	Lines Lines `json:"lines,omitempty"`
}

// Line is a line of the log. At is where it belongs among the others, in milliseconds since
// 1970: it is its time, but no later than it has come, as clocks of other hosts may be wrong.
type Line struct {
	debuglog.Entry
	At float64 `json:"at"`
}

// Lines are lines of the log in their order. Those that belong between others, as those of
// another host do, may be put in any order.
type Lines []Line

// Put puts a line in its place, and drops the first ones now and then if there are more than so
// many.
func (l Lines) Put(line Line, most int) Lines {
	i := len(l)
	for i > 0 && l[i-1].At > line.At {
		i--
	}
	if l = slices.Insert(l, i, line); len(l) >= 2*most {
		l = slices.Clone(l[len(l)-most:])
	}
	return l
}

// Empty says whether it changes nothing.
func (d Delta) Empty() bool { return len(d.Set) == 0 && len(d.Gone) == 0 }

// Then is the one change that does what d and after it next do.
func (d Delta) Then(next Delta) Delta {
	d.Set = maps.Clone(d.Set)
	return d.And(next)
}

// And is Then for who has d alone, whose set may be changed by that.
func (d Delta) And(next Delta) Delta {
	if d.Set == nil {
		d.Set = Encoded{}
	}
	gone := map[string]bool{}
	for _, key := range d.Gone {
		gone[key] = true
	}
	for _, key := range next.Gone {
		delete(d.Set, key)
		gone[key] = true
	}
	for key, part := range next.Set {
		d.Set[key] = part
		delete(gone, key)
	}
	d.Gone = slices.Sorted(maps.Keys(gone))
	return d
}

// Encode makes JSON of each part.
func (p Parts) Encode() (Encoded, error) {
	out := make(Encoded, len(p))
	for key, part := range p {
		b, err := json.Marshal(part)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot encode %s", key)
		}
		out[key] = b
	}
	return out, nil
}

// Since is what has changed since former.
func (e Encoded) Since(former Encoded) Delta {
	d := Delta{Set: Encoded{}}
	for key, part := range e {
		if !bytes.Equal(former[key], part) {
			d.Set[key] = part
		}
	}
	for key := range former {
		if _, is := e[key]; !is {
			d.Gone = append(d.Gone, key)
		}
	}
	slices.Sort(d.Gone)
	return d
}

// Status is a status as the page has it. Since is in milliseconds of Unix time, as all
// times are here; 0: not known.
type Status struct {
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	Since   int64  `json:"since,omitempty"`
}

func statusOf(s model.Status) Status {
	return Status{Status: s.Status, Message: s.Message, Since: ms(s.Since)}
}

// Model is the part "model".
type Model struct {
	Name       string `json:"name"`
	UUID       string `json:"uuid"`
	Controller string `json:"controller"`
	Life       string `json:"life"`
}

// Application is a part "app/NAME".
type Application struct {
	Name        string     `json:"name"`
	Charm       string     `json:"charm"`
	Revision    int        `json:"revision"`
	Base        string     `json:"base,omitempty"`
	Version     string     `json:"version,omitempty"`
	Life        string     `json:"life"`
	Status      Status     `json:"status"`
	Units       int        `json:"units"`
	Scale       int        `json:"scale,omitempty"` // of container charms
	Containers  []string   `json:"containers,omitempty"`
	Exposed     bool       `json:"exposed,omitempty"`
	Subordinate bool       `json:"subordinate,omitempty"`
	Endpoints   []Endpoint `json:"endpoints,omitempty"`
	Offered     []string   `json:"offered,omitempty"` // the names of its offers
}

// Endpoint is an end of a relation.
type Endpoint struct {
	Application string `json:"application,omitempty"`
	Name        string `json:"name"`
	Role        string `json:"role"`
	Interface   string `json:"interface"`
}

// Unit is a part "unit/NAME".
type Unit struct {
	Name        string      `json:"name"`
	Application string      `json:"application"`
	Principal   string      `json:"principal,omitempty"`
	Leader      bool        `json:"leader,omitempty"`
	Life        string      `json:"life"`
	Workload    Status      `json:"workload"`
	Agent       Status      `json:"agent"`
	Machine     string      `json:"machine,omitempty"`
	Address     string      `json:"address,omitempty"`
	Ports       []string    `json:"ports,omitempty"`
	Revision    string      `json:"revision,omitempty"` // of the charm that it has
	Version     string      `json:"version,omitempty"`
	Containers  []Container `json:"containers,omitempty"`
	// Failed is the run that has put it in error; 0: none.
	Failed int64 `json:"failed,omitempty"`
}

// Container is a workload container of a unit.
type Container struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Fault string `json:"fault,omitempty"`
	Image string `json:"image,omitempty"`
}

// Relation is a part "relation/ID": one end for a peer relation, else two.
type Relation struct {
	ID        int        `json:"id"`
	Ends      []Endpoint `json:"ends"`
	Interface string     `json:"interface"`
	Life      string     `json:"life"`
	Suspended bool       `json:"suspended,omitempty"`
	// Container: it is of container scope, as those of subordinates are.
	Container bool `json:"container,omitempty"`
	// Across: the other end is in another model.
	Across bool `json:"across,omitempty"`
}

// SAAS is a part "saas/NAME": what the model has consumed of another one.
type SAAS struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Life   string `json:"life"`
	Status Status `json:"status"`
}

// Machine is a part "machine/ID".
type Machine struct {
	ID       string `json:"id"`
	Life     string `json:"life"`
	Hostname string `json:"hostname,omitempty"`
	Base     string `json:"base,omitempty"`
	Present  bool   `json:"present"`
}

// Run is a part "run/UNIT/N", where N counts the entries of the unit's history: a run
// that was answered without running again has two.
type Run struct {
	Unit    string `json:"unit"`
	ID      string `json:"id,omitempty"` // the unit's
	Run     int64  `json:"run"`
	Hook    string `json:"hook"`
	Outcome string `json:"outcome"`
	// Retry: the unit's run before was the same hook, and failed.
	Retry    bool   `json:"retry,omitempty"`
	Cause    string `json:"cause,omitempty"`
	Relation string `json:"relation,omitempty"`
	Remote   string `json:"remote,omitempty"`
	// Seen and Rev are those of history.Entry.
	Seen     int64   `json:"seen,omitempty"`
	Rev      int64   `json:"rev,omitempty"`
	Started  float64 `json:"started"`
	Took     float64 `json:"took"` // in ms
	Exit     int     `json:"exit,omitempty"`
	Message  string  `json:"message,omitempty"`
	Missing  bool    `json:"missing,omitempty"`
	Debugged bool    `json:"debugged,omitempty"`
	Tools    int     `json:"tools,omitempty"`
	Calls    []Call  `json:"calls,omitempty"`
	// Ticks are when its hook tool calls began, in ms from its beginning: for a timeline of
	// runs that come without their calls.
	Ticks []float64 `json:"ticks,omitempty"`
	Wrote string    `json:"wrote,omitempty"`
	Notes []string  `json:"notes,omitempty"`
	// Unknown: nobody knows when it began. Started is then when the run before it had ended.
	Unknown bool `json:"unknown,omitempty"`
	// From is the key of the run of another unit that this hook follows from; empty: it
	// isn't known.
	From string `json:"from,omitempty"`
}

// Call is a hook tool call of a run.
type Call struct {
	Call string  `json:"call"`
	At   float64 `json:"at"`
	Took float64 `json:"took"`
	Exit int     `json:"exit,omitempty"`
}

// Of are the parts that a status has: all but the runs.
func Of(s *state.FullStatus) Parts {
	p := Parts{"model": Model{Name: s.Model.Name, UUID: s.Model.UUID, Controller: s.Controller, Life: s.Model.Life.String()}}
	offered := map[string][]string{}
	for _, o := range s.Offers {
		offered[o.Application] = append(offered[o.Application], o.Name)
	}
	for _, app := range s.Applications {
		a := applicationOf(app)
		a.Offered = offered[app.Name]
		p["app/"+app.Name] = a
		for _, u := range app.Units {
			p["unit/"+string(u.Name)] = unitOf(app, u)
		}
	}
	for _, r := range s.Relations {
		p["relation/"+strconv.Itoa(int(r.ID))] = relationOf(r)
	}
	for _, v := range s.SAAS {
		p["saas/"+v.Name] = SAAS{Name: v.Name, URL: v.URL, Life: v.Life.String(), Status: statusOf(v.Status)}
	}
	for _, m := range s.Machines {
		p["machine/"+m.ID] = Machine{ID: m.ID, Life: m.Life.String(), Hostname: m.Hostname, Base: m.Base.String(), Present: m.Present}
	}
	return p
}

func applicationOf(v state.ApplicationView) Application {
	a := Application{
		Name: v.Name, Charm: v.CharmDoc.Charm.Name, Revision: v.CharmDoc.Revision, Base: v.OnBase().String(), Version: v.Version,
		Life: v.Life.String(), Status: statusOf(v.Status), Units: len(v.Units), Containers: v.CharmDoc.Charm.ContainerNames(),
		Exposed: v.Exposed, Subordinate: v.Subordinate,
	}
	if v.Sidecar {
		a.Scale = v.Scale
	}
	for _, e := range v.Endpoints {
		if !e.Implicit() {
			a.Endpoints = append(a.Endpoints, Endpoint{Name: e.Name, Role: string(e.Role), Interface: e.Interface})
		}
	}
	slices.SortFunc(a.Endpoints, func(x, y Endpoint) int { return bytes.Compare([]byte(x.Name), []byte(y.Name)) })
	return a
}

func unitOf(app state.ApplicationView, v state.UnitView) Unit {
	u := Unit{
		Name: string(v.Name), Application: app.Name, Principal: string(v.Principal), Leader: v.Leader, Life: v.Life.String(),
		Workload: statusOf(v.Workload), Agent: statusOf(v.Agent), Machine: v.Machine, Address: v.Address, Version: v.WorkloadVersion,
	}
	if v.Pod {
		u.Machine = ""
	}
	if v.Charm != "" && v.Charm != app.ApplicationDoc.Charm {
		u.Revision = v.Charm
	}
	if v.Workload.Status == model.StatusError {
		u.Failed = v.Failed
	}
	if v.Fetching != "" {
		u.Agent.Message = v.Fetching
	}
	for _, r := range v.Ports.All() {
		u.Ports = append(u.Ports, r.String())
	}
	for _, c := range v.Containers.Containers {
		u.Containers = append(u.Containers, Container{Name: c.Name, State: string(c.State), Fault: c.Fault, Image: c.Image})
	}
	return u
}

func relationOf(r state.RelationDoc) Relation {
	out := Relation{
		ID: int(r.ID), Life: r.Life.String(), Suspended: r.Suspended, Container: r.Scope() == model.Container, Across: r.Across != nil,
	}
	for _, e := range r.Endpoints {
		out.Interface = e.Interface
		out.Ends = append(out.Ends, Endpoint{Application: e.Application, Name: e.Name, Role: string(e.Role), Interface: e.Interface})
	}
	return out
}

func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
