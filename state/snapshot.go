package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Snapshot is all that the agent of one unit needs to decide what to do, read
// in one view.
type Snapshot struct {
	// Rev is the store's revision that it was read at.
	Rev         int64
	Unit        UnitDoc
	Application ApplicationDoc
	// Orphaned: the unit has to mark itself Dying; OrphanReason says why.
	Orphaned     bool
	OrphanReason string
	// ConfigHash changes with whatever config-changed tells of: configuration,
	// trust, the machine's addresses, and the charm.
	ConfigHash string
	Leader     bool
	// LeaderSettings is the version of the leader settings; 0: none were set.
	LeaderSettings int
	Retry          bool
	StatusInterval time.Duration
	// ModelConfig has the model's settings, with defaults.
	ModelConfig map[string]string
	// Relations are those of the application that concern the unit, by endpoint
	// name, then by id.
	Relations []RelationView
	// Storage is what is attached to the unit, or is about to be, by name, then
	// by number.
	Storage []StorageView
}

// RelationView is a relation as one unit sees it.
type RelationView struct {
	RelationDoc
	Own, Other model.Endpoint
	InScope    bool
	// NotYet: the scope can't be entered before the subordinate that the unit
	// used to have in it is gone, see ErrCannotEnterScopeYet.
	NotYet  bool
	Members []Member
	// ApplicationVersion is that of the other application's settings.
	ApplicationVersion int
}

// Snapshot reads what the unit's agent needs; errors.NotFound if there is no
// such unit.
func (m *Model) Snapshot(ctx context.Context, unit model.UnitName) (*Snapshot, error) {
	s := &Snapshot{}
	rev, err := m.view(ctx, func(r docs) error { return s.read(r, unit) })
	s.Rev = rev
	return s, errors.Trace(err)
}

func (s *Snapshot) read(r docs, unit model.UnitName) (err error) {
	*s = Snapshot{}
	app := unit.Application()
	if s.Unit, err = r.unit(unit); err != nil {
		return errors.Trace(err)
	}
	if s.Application, err = r.application(app); err != nil {
		return errors.Trace(err)
	}
	if s.ConfigHash, err = r.configHash(app, s.Unit.Machine); err != nil {
		return errors.Trace(err)
	}
	if s.Leader, err = r.isLeader(unit); err != nil {
		return errors.Trace(err)
	}
	var settings settingsDoc
	if _, err := r.find(leaderSettingsKey(app), &settings); err != nil {
		return errors.Trace(err)
	}
	s.LeaderSettings = settings.Version
	conf, _, err := r.modelConfig()
	if err != nil {
		return errors.Trace(err)
	}
	s.ModelConfig = conf
	s.Retry, _ = strconv.ParseBool(conf[RetryHooks]) // checked when it was set
	if s.StatusInterval, err = time.ParseDuration(conf[UpdateStatusInterval]); err != nil {
		return errors.Annotate(err, UpdateStatusInterval)
	}
	if s.Storage, err = r.storageOf(s.Unit); err != nil {
		return errors.Trace(err)
	}
	rels, err := r.relationsOf(app)
	if err != nil {
		return errors.Trace(err)
	}
	for _, rel := range rels {
		ours, err := r.concerns(rel, s.Unit)
		if err != nil {
			return errors.Trace(err)
		}
		if !ours {
			continue
		}
		v, err := r.relationView(rel, s.Unit)
		if err != nil {
			return errors.Trace(err)
		}
		s.Relations = append(s.Relations, v)
	}
	return errors.Trace(s.findOrphan(r))
}

func (d docs) relationView(rel RelationDoc, u UnitDoc) (RelationView, error) {
	v := RelationView{RelationDoc: rel}
	v.Own, v.Other, _ = rel.Endpoint(u.Name.Application())
	var err error
	if v.Members, v.InScope, err = d.members(rel, u); err != nil {
		return v, errors.Trace(err)
	}
	if !v.InScope {
		if v.NotYet, err = d.subordinateGoing(rel, u); err != nil {
			return v, errors.Trace(err)
		}
	}
	var settings settingsDoc
	if _, err := d.find(appSettingsKey(rel.ID, v.Other.Application), &settings); err != nil {
		return v, errors.Trace(err)
	}
	v.ApplicationVersion = settings.Version
	return v, nil
}

// findOrphan finds out whether the unit must go because what it belongs to
// does (seed 000, "Agents").
func (s *Snapshot) findOrphan(r docs) error {
	if s.Application.Life != model.Alive {
		s.Orphaned, s.OrphanReason = true, fmt.Sprintf("application %q is being removed", s.Application.Name)
		return nil
	}
	if s.Unit.Principal == "" {
		return nil
	}
	p, err := r.unit(s.Unit.Principal)
	switch {
	case errors.Is(err, errors.NotFound):
		s.Orphaned, s.OrphanReason = true, fmt.Sprintf("its principal %s is gone", s.Unit.Principal)
		return nil
	case err != nil:
		return errors.Trace(err)
	case p.Life != model.Alive:
		s.Orphaned, s.OrphanReason = true, fmt.Sprintf("its principal %s is being removed", p.Name)
		return nil
	}
	for _, v := range s.Relations {
		if v.Scope() == model.Container && v.Life == model.Alive && v.Other.Application == p.Name.Application() {
			return nil
		}
	}
	s.Orphaned, s.OrphanReason = true, fmt.Sprintf("no relation to %s is alive", p.Name.Application())
	return nil
}

func (d docs) configHash(application, machine string) (string, error) {
	c, err := d.config(application)
	if err != nil {
		return "", errors.Trace(err)
	}
	m, err := d.machine(machine)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return "", errors.Trace(err)
	}
	b, err := json.Marshal([]any{c.Charm.URL, c.Values, c.Trust, m.Addresses})
	if err != nil {
		return "", errors.Trace(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}
