package state

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// FullStatus is the whole picture of a model, read in one view.
type FullStatus struct {
	Model        ModelInfo
	Controller   string // its name
	Rev          int64
	Timestamp    time.Time
	Machines     []MachineView
	Applications []ApplicationView
	Relations    []RelationDoc
	// Suspending are the relations that are suspended, and that units have still to leave.
	Suspending map[model.RelationID]bool
	Storage    []StorageView
	// SAAS is what the model has consumed of others, and Offers what it offers them.
	SAAS   []SAASView
	Offers []OfferView
}

// MachineView is a machine as people see it.
type MachineView struct {
	MachineDoc
	// Present: its agent is there.
	Present bool
	// Expired: nobody has joined as the machine, and nobody can any more.
	Expired bool
	// Base is that of the charm for which the machine is there, of its first
	// principal unit by name; where no charm names one, the one that was asked for when
	// the machine was added, else that of the host.
	Base model.Base
}

// ApplicationView is an application as people see it.
type ApplicationView struct {
	ApplicationDoc
	CharmDoc CharmDoc
	Status   model.Status
	Version  string
	// Relations has the other application of each relation, by own endpoint.
	Relations map[string][]RelatedView
	// SubordinateTo are the principal applications of a subordinate.
	SubordinateTo []string
	Endpoints     []model.Endpoint
	Units         []UnitView
	// Service is how it is reached; zero where nobody has told.
	Service ServiceDoc
}

// RelatedView is a relation from one application's side.
type RelatedView struct {
	Application string
	Interface   string
	Scope       model.Scope
	ID          model.RelationID
}

// UnitView is a unit as people see it.
type UnitView struct {
	UnitDoc
	Workload, Agent model.Status
	Leader          bool
	Address         string
	Ports           model.Ports
	// Containers are its workload containers, as far as its agent has told.
	Containers ContainersDoc
	// After is the unit of its application that has to be ready before this one has
	// its turn for the containers that the application asks for; empty: none has.
	After model.UnitName
	// Fetching says how far the image is that the unit's agent fetches for it; empty:
	// none is fetched, or nobody can tell, as only the agent's host can.
	Fetching string
	// charms is the workload status that one of the containers has hidden; nil: none
	// has.
	charms *model.Status
}

// withContainers has the workload status tell of the containers, where they say
// more than the charm.
func (v UnitView) withContainers() UnitView {
	shown := v.Containers.shown(v.Workload)
	if shown.Status != v.Workload.Status || shown.Message != v.Workload.Message {
		charms := v.Workload
		v.Workload, v.charms = shown, &charms
	}
	return v
}

// Status reads the whole picture.
func (m *Model) Status(ctx context.Context) (*FullStatus, error) {
	s := &FullStatus{}
	rev, err := m.view(ctx, func(r docs) error {
		*s = FullStatus{Timestamp: m.clock.Now(), Controller: m.info.controller}
		info, err := readInfo(r.Reader, m.info)
		if err != nil {
			return errors.Trace(err)
		}
		s.Model = info
		return s.read(r.ahead("machine", "presence", "ports", "pod", "app", "service", "leader", "unit", "status", "failure", "containers", "attachment"))
	})
	s.Rev = rev
	return s, errors.Trace(err)
}

func (s *FullStatus) read(r docs) error {
	machines, err := list[MachineDoc](r, "machine/")
	if err != nil {
		return errors.Trace(err)
	}
	slices.SortFunc(machines, func(a, b MachineDoc) int { return compareIDs(a.ID, b.ID) })
	byID := map[string]MachineView{}
	for _, doc := range machines {
		v := MachineView{MachineDoc: doc, Base: model.Base{Name: doc.BaseName, Channel: doc.BaseChannel}}
		if base, err := model.ParseBase(doc.AskedBase); err == nil {
			v.Base = base
		}
		v.Expired = doc.Join != nil && !s.Timestamp.Before(doc.Join.Expires)
		if v.Present, err = r.present(doc.ID); err != nil {
			return errors.Trace(err)
		}
		byID[doc.ID] = v
		if !doc.Pod {
			s.Machines = append(s.Machines, v)
		}
	}
	if s.Relations, err = list[RelationDoc](r, "relation/"); err != nil {
		return errors.Trace(err)
	}
	slices.SortFunc(s.Relations, func(a, b RelationDoc) int { return int(a.ID - b.ID) })
	s.Suspending = map[model.RelationID]bool{}
	for _, rel := range s.Relations {
		if !rel.Suspended {
			continue
		}
		if s.Suspending[rel.ID], err = r.anybodyIn(rel.ID); err != nil {
			return errors.Trace(err)
		}
	}
	if s.Storage, err = r.allStorage(); err != nil {
		return errors.Trace(err)
	}
	apps, err := list[ApplicationDoc](r, "app/")
	if err != nil {
		return errors.Trace(err)
	}
	for _, doc := range apps {
		v, err := s.application(r, doc, byID)
		if err != nil {
			return errors.Annotatef(err, "application %s", doc.Name)
		}
		s.Applications = append(s.Applications, v)
	}
	s.chooseBases()
	return s.readAcross(r)
}

// chooseBases gives machines the bases of the charms whose units are on them.
func (s *FullStatus) chooseBases() {
	bases := map[string]model.Base{}
	for _, app := range s.Applications { // by name
		base := app.OnBase()
		for _, u := range app.Units {
			if _, chosen := bases[u.Machine]; !chosen && u.Principal == "" && base.Name != "" {
				bases[u.Machine] = base
			}
		}
	}
	for i, m := range s.Machines {
		if base, ok := bases[m.ID]; ok {
			s.Machines[i].Base = base
		}
	}
}

// OnBase is the base of the application's units: the one that was chosen at deploy,
// else the charm's; zero where it names none.
func (v ApplicationView) OnBase() model.Base {
	if base, err := model.ParseBase(v.Base); err == nil {
		return base
	}
	return v.CharmDoc.Charm.Base()
}

func (s *FullStatus) application(r docs, doc ApplicationDoc, machines map[string]MachineView) (ApplicationView, error) {
	v := ApplicationView{ApplicationDoc: doc, Relations: map[string][]RelatedView{}}
	var err error
	if v.CharmDoc, err = r.charm(doc.Charm); err != nil {
		return v, errors.Trace(err)
	}
	v.Endpoints = v.CharmDoc.Charm.EndpointsOf(doc.Name)
	if _, err := r.find(serviceKey(doc.Name), &v.Service); err != nil {
		return v, errors.Trace(err)
	}
	principals := map[string]bool{}
	for _, rel := range s.Relations {
		own, other, ok := rel.Endpoint(doc.Name)
		if !ok {
			continue
		}
		v.Relations[own.Name] = append(v.Relations[own.Name], RelatedView{other.Application, own.Interface, rel.Scope(), rel.ID})
		if doc.Subordinate && rel.Scope() == model.Container {
			principals[other.Application] = true
		}
	}
	v.SubordinateTo = slices.Sorted(maps.Keys(principals))
	units, err := r.unitsOf(doc.Name)
	if err != nil {
		return v, errors.Trace(err)
	}
	leader, err := r.leader(doc.Name)
	if err != nil {
		return v, errors.Trace(err)
	}
	for _, u := range units {
		uv, err := r.unitView(u, doc, machines[u.Machine])
		if err != nil {
			return v, errors.Trace(err)
		}
		uv.Leader = u.Name == leader.Unit
		v.Units = append(v.Units, uv)
		if u.WorkloadVersion != "" {
			v.Version = u.WorkloadVersion
		}
	}
	if doc.Sidecar {
		pods, err := r.withPods(doc, units)
		if err != nil {
			return v, errors.Trace(err)
		}
		by, held := heldUp(doc, pods)
		for i, u := range v.Units {
			if held[u.Name] {
				v.Units[i].After = by
			}
		}
	}
	v.Status, err = r.seenApplicationStatus(doc, v.Units)
	return v, errors.Trace(err)
}

func (d docs) unitView(u UnitDoc, app ApplicationDoc, m MachineView) (UnitView, error) {
	v := UnitView{UnitDoc: u}
	if len(m.Addresses) > 0 {
		v.Address = m.Addresses[0]
	}
	var ports portsDoc
	if _, err := d.find(portsKey(u.Machine), &ports); err != nil {
		return v, errors.Trace(err)
	}
	v.Ports = ports.Units[u.Name]
	var err error
	if v.Workload, v.Agent, err = d.unitStatus(u, m.Present); err != nil {
		return v, errors.Trace(err)
	}
	if v.Containers, err = d.containersOf(u, app, v.Workload.Since); err != nil || v.Agent.Status == model.StatusLost {
		return v, errors.Trace(err)
	}
	return v.withContainers(), nil
}

// UnitDetail is what show-unit shows.
type UnitDetail struct {
	UnitView
	Charm     string
	Relations []UnitRelation
}

// UnitRelation is one relation of a unit with everybody's settings.
type UnitRelation struct {
	ID          model.RelationID
	Own, Other  model.Endpoint
	Application model.Settings // the other application's
	InScope     bool
	// Across: it is with an application of another model.
	Across bool
	Local  model.Settings
	Remote []RemoteUnit
}

// RemoteUnit is a unit on the other side with its settings.
type RemoteUnit struct {
	Unit     model.UnitName
	Settings model.Settings
}

// ShowUnit reads one unit with its relations; errors.NotFound if there is none.
func (m *Model) ShowUnit(ctx context.Context, name model.UnitName) (*UnitDetail, error) {
	d := &UnitDetail{}
	_, err := m.view(ctx, func(r docs) error {
		*d = UnitDetail{}
		u, err := r.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		app, err := r.application(name.Application())
		if err != nil {
			return errors.Trace(err)
		}
		d.Charm = app.Charm
		doc, err := r.machine(u.Machine)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
		mv := MachineView{MachineDoc: doc}
		if mv.Present, err = r.present(u.Machine); err != nil {
			return errors.Trace(err)
		}
		if d.UnitView, err = r.unitView(u, app, mv); err != nil {
			return errors.Trace(err)
		}
		if d.Leader, err = r.isLeader(name); err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(d.readRelations(r))
	})
	return d, errors.Trace(err)
}

func (d *UnitDetail) readRelations(r docs) error {
	rels, err := r.relationsOf(d.Name.Application())
	if err != nil {
		return errors.Trace(err)
	}
	for _, rel := range rels {
		ours, err := r.concerns(rel, d.UnitDoc)
		if err != nil {
			return errors.Trace(err)
		}
		if !ours {
			continue
		}
		v, err := r.relationView(rel, d.UnitDoc, scopes{})
		if err != nil {
			return errors.Trace(err)
		}
		ur := UnitRelation{ID: rel.ID, Own: v.Own, Other: v.Other, InScope: v.InScope, Across: rel.Across != nil}
		if ur.Application, err = r.bag(appSettingsKey(rel.ID, v.Other.Application)); err != nil {
			return errors.Trace(err)
		}
		if ur.Local, err = r.bag(unitSettingsKey(rel.ID, d.Name)); err != nil {
			return errors.Trace(err)
		}
		for _, m := range v.Members {
			settings, err := r.bag(unitSettingsKey(rel.ID, m.Unit))
			if err != nil {
				return errors.Trace(err)
			}
			ur.Remote = append(ur.Remote, RemoteUnit{m.Unit, settings})
		}
		d.Relations = append(d.Relations, ur)
	}
	slices.SortFunc(d.Relations, func(a, b UnitRelation) int {
		if c := strings.Compare(a.Own.Name, b.Own.Name); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	return nil
}

func (d docs) bag(key string) (model.Settings, error) {
	doc := settingsDoc{Values: model.Settings{}}
	_, err := d.find(key, &doc)
	return doc.Values, errors.Trace(err)
}
