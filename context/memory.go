package hookcontext

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Memory is all that a Context knows, as a value that another process can read: what its
// hook has been told, and what it wants to write. It has the contents of secrets, so it is
// for no file. Its fields are for this package.
// Source: docs/upgrades.md, "What is handed over".
type Memory struct {
	Config         Recalled[map[string]Scalar]
	Bags           []RecalledBag
	Ports          Recalled[map[model.UnitName]model.Ports]
	WantPorts      model.Ports
	State          Recalled[map[string]string]
	StateWrites    map[string]*string
	NotLeader      bool
	Epoch          int64
	LeaderSettings Recalled[model.Settings]
	LeaderWrites   model.Settings
	UnitStatus     Recalled[model.Status]
	AppStatus      Recalled[ApplicationStatus]
	Networks       map[string]Recalled[Network]
	PublicAddress  Recalled[string]
	Goals          Recalled[GoalState]
	Owned          Recalled[[]model.SecretInfo]
	Secrets        []RecalledSecret
	Unmade         []model.SecretID
	Latest         map[model.SecretID]Recalled[model.SecretContent]
	Storage        Recalled[[]Storage]
	StorageAdded   map[string]int
	Version        *string
	Reboot         model.Reboot
	Requeue        *model.Requeue
	Failed         *string
	Over           bool
}

// Recalled is what the View has said to one question.
type Recalled[T any] struct {
	Known bool `json:",omitempty"`
	Value T    `json:",omitzero"`
	// None is what it said where there is none; empty: there is.
	None string `json:",omitempty"`
}

// RecalledBag is what is known of a databag: what it had, and what is to be written.
type RecalledBag struct {
	Relation model.RelationID
	Owner    string
	Settings Recalled[model.Settings]
	Writes   model.Settings
}

// RecalledSecret is a change with the content that its form for people leaves out.
type RecalledSecret struct {
	Change  model.SecretChange
	Content model.SecretContent
}

// Scalar is the value of an option: a text, a truth value or a number. It keeps which of
// them it is, and an integer's digits, where plain JSON has one kind of number.
type Scalar struct{ Value any }

// MarshalJSON is part of json.Marshaler.
func (s Scalar) MarshalJSON() ([]byte, error) {
	switch v := s.Value.(type) {
	case int:
		return json.Marshal(map[string]string{"int": strconv.Itoa(v)})
	case int64:
		return json.Marshal(map[string]string{"int64": strconv.FormatInt(v, 10)})
	}
	return json.Marshal(s.Value)
}

// UnmarshalJSON is part of json.Unmarshaler.
func (s *Scalar) UnmarshalJSON(b []byte) error {
	var number map[string]string
	if json.Unmarshal(b, &number) != nil || number == nil {
		return errors.Trace(json.Unmarshal(b, &s.Value))
	}
	for kind, digits := range number {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return errors.Trace(err)
		}
		if s.Value = any(n); kind == "int" {
			s.Value = int(n)
		}
	}
	return nil
}

// Memory is all that the Context knows. The hook's tools must not run meanwhile.
func (c *Context) Memory() Memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := Memory{
		Ports: recalled(c.ports), WantPorts: c.wantPorts, State: recalled(c.state), StateWrites: c.stateWrites,
		NotLeader: c.notLeader, Epoch: c.epoch, LeaderSettings: recalled(c.leaderSettings), LeaderWrites: c.leaderWrites,
		UnitStatus: recalled(c.unitStatus), AppStatus: recalled(c.appStatus), Networks: recalledAll(c.networks),
		PublicAddress: recalled(c.publicAddress), Goals: recalled(c.goals), Owned: recalled(c.owned),
		Unmade: slices.Collect(maps.Keys(c.unmade)), Latest: recalledAll(c.latest), Storage: recalled(c.storage),
		StorageAdded: c.storageAdded, Version: c.version, Reboot: c.reboot, Requeue: c.requeue, Failed: c.failed, Over: c.over,
	}
	if c.config.known {
		m.Config = Recalled[map[string]Scalar]{Known: true, Value: map[string]Scalar{}}
		for name, v := range c.config.value {
			m.Config.Value[name] = Scalar{v}
		}
	}
	bags := maps.Clone(c.bagWrites)
	for b := range c.bags {
		bags[b] = c.bagWrites[b]
	}
	for b, writes := range bags {
		r := RecalledBag{Relation: b.relation, Owner: b.owner, Writes: writes}
		if a := c.bags[b]; a != nil {
			r.Settings = recalled(*a)
		}
		m.Bags = append(m.Bags, r)
	}
	for _, s := range c.secrets {
		m.Secrets = append(m.Secrets, RecalledSecret{s, s.Content})
	}
	return m
}

// Resume is the context of a run of which another process has begun to serve the calls:
// as that one has left it.
func Resume(p Params, m Memory) *Context {
	c := New(p)
	c.ports, c.wantPorts, c.state, c.stateWrites = remembered(m.Ports), m.WantPorts, remembered(m.State), m.StateWrites
	c.notLeader, c.epoch, c.leaderSettings, c.leaderWrites = m.NotLeader, m.Epoch, remembered(m.LeaderSettings), m.LeaderWrites
	c.unitStatus, c.appStatus, c.networks = remembered(m.UnitStatus), remembered(m.AppStatus), rememberedAll(m.Networks)
	c.publicAddress, c.goals, c.owned = remembered(m.PublicAddress), remembered(m.Goals), remembered(m.Owned)
	c.latest, c.storage = rememberedAll(m.Latest), remembered(m.Storage)
	c.version, c.reboot, c.requeue, c.failed, c.over = m.Version, m.Reboot, m.Requeue, m.Failed, m.Over
	maps.Copy(c.storageAdded, m.StorageAdded)
	if c.stateWrites == nil {
		c.stateWrites = map[string]*string{}
	}
	if m.Config.Known {
		c.config = answer[map[string]any]{known: true, value: map[string]any{}}
		for name, v := range m.Config.Value {
			c.config.value[name] = v.Value
		}
	}
	for _, r := range m.Bags {
		b := bag{r.Relation, r.Owner}
		a := remembered(r.Settings)
		c.bags[b] = &a
		if r.Writes != nil {
			c.bagWrites[b] = r.Writes
			c.tallyOf(b).small(r.Writes)
		}
	}
	c.leaderTally.small(c.leaderWrites)
	for k, v := range c.stateWrites {
		if v != nil {
			c.stateTally += tally(len(k) + len(*v))
		}
	}
	for _, s := range m.Secrets {
		s.Change.Content = s.Content
		c.secrets = append(c.secrets, s.Change)
	}
	for _, id := range m.Unmade {
		c.unmade[id] = true
	}
	return c
}

func recalled[T any](a answer[T]) Recalled[T] {
	r := Recalled[T]{Known: a.known, Value: a.value}
	if a.err != nil {
		r.None = a.err.Error()
	}
	return r
}

func remembered[T any](r Recalled[T]) answer[T] {
	a := answer[T]{known: r.Known, value: r.Value}
	if r.None != "" {
		a.err = errors.NewNotFound(nil, r.None)
	}
	return a
}

func recalledAll[K comparable, T any](all map[K]*answer[T]) map[K]Recalled[T] {
	out := map[K]Recalled[T]{}
	for k, a := range all {
		out[k] = recalled(*a)
	}
	return out
}

func rememberedAll[K comparable, T any](all map[K]Recalled[T]) map[K]*answer[T] {
	out := map[K]*answer[T]{}
	for k, r := range all {
		a := remembered(r)
		out[k] = &a
	}
	return out
}
