package state

import (
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
	// Force is how the unit is being removed: its own, its application's, or its
	// principal's, whichever is most.
	Force Force
	// ConfigHash changes with whatever config-changed tells of: configuration,
	// trust, the machine's addresses, and the charm.
	ConfigHash string
	// SettingsHash is ConfigHash without the charm.
	SettingsHash string
	// Told is what ConfigHash is made of.
	Told   Told
	Leader bool
	// LeaderSettings is the version of the leader settings; 0: none were set.
	LeaderSettings int
	Retry          bool
	WarmPython     bool
	StatusInterval time.Duration
	// HookTimeout is how long a hook of the unit may take; 0: as long as it likes.
	HookTimeout time.Duration
	// ModelConfig has the model's settings, with defaults. It isn't to be changed.
	ModelConfig map[string]string
	// Relations are those of the application that concern the unit, by endpoint
	// name, then by id.
	Relations []RelationView
	// OwnedSecrets are those that the unit can change, ReadSecrets the others
	// that it has read; both by id.
	OwnedSecrets []OwnedSecret
	ReadSecrets  []ReadSecretView
	Task         NextTask
	// Storage is what is attached to the unit, or is about to be, by name, then
	// by number.
	Storage []StorageView
	// Pod is that of a container unit.
	Pod PodDoc
}

// RelationView is a relation as one unit sees it.
type RelationView struct {
	RelationDoc
	Own, Other model.Endpoint
	InScope    bool
	// NotYet: the scope can't be entered before the subordinate that the unit
	// used to have in it is gone, see ErrCannotEnterScopeYet.
	NotYet  bool
	Members model.Members
	// ApplicationVersion is that of the other application's settings.
	ApplicationVersion int
}

func (s *Snapshot) read(r docs, unit model.UnitName, known scopes) (err error) {
	*s = Snapshot{}
	app := unit.Application()
	if s.Unit, err = r.unit(unit); err != nil {
		return errors.Trace(err)
	}
	if s.Application, err = r.application(app); err != nil {
		return errors.Trace(err)
	}
	if s.Application.Sidecar {
		if s.Pod, err = r.podOf(s.Application, unit); err != nil {
			return errors.Trace(err)
		}
	}
	s.Force = max(s.Unit.Force, s.Application.Force)
	if err = s.readTold(r, app); err != nil {
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
	if err := s.readConfig(r); err != nil {
		return errors.Trace(err)
	}
	if s.Task, err = r.nextTask(s.Unit); err != nil {
		return errors.Trace(err)
	}
	if s.Storage, err = r.storageOf(s.Unit); err != nil {
		return errors.Trace(err)
	}
	if err := s.readRelations(r, known); err != nil {
		return errors.Trace(err)
	}
	if err := s.readSecrets(r); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(s.findOrphan(r))
}

// relationView is a relation as u sees it. What is known of its scope need not
// be read again, and is brought up to date.
func (d docs) relationView(rel RelationDoc, u UnitDoc, known scopes) (RelationView, error) {
	v := RelationView{RelationDoc: rel}
	v.Own, v.Other, _ = rel.Endpoint(u.Name.Application())
	now, err := d.scope(rel, u, known[rel.ID])
	if err != nil {
		return v, errors.Trace(err)
	}
	known[rel.ID] = now
	v.Members, v.InScope = now.members, now.self
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
		s.Force = max(s.Force, p.Force)
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

// Told is what config-changed tells a charm of.
type Told struct {
	Charm     string         // its URL
	Options   map[string]any // with defaults
	Trust     bool
	Addresses []string // of the machine
}

// readConfig reads what the model says of how hooks are run.
func (s *Snapshot) readConfig(r docs) error {
	now, err := r.settings()
	if err != nil {
		return errors.Trace(err)
	}
	conf := now.all
	s.ModelConfig = conf
	// Both were checked when they were set.
	s.Retry, _ = strconv.ParseBool(conf[RetryHooks])
	s.WarmPython, _ = strconv.ParseBool(conf[WarmPython])
	if s.StatusInterval, err = time.ParseDuration(conf[UpdateStatusInterval]); err != nil {
		return errors.Annotate(err, UpdateStatusInterval)
	}
	s.HookTimeout, err = hookTimeout(s.Application, conf)
	return errors.Trace(err)
}

// readRelations reads those of the application's relations that are the unit's.
func (s *Snapshot) readRelations(r docs, known scopes) error {
	rels, err := r.relationsOf(s.Unit.Name.Application())
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
		v, err := r.relationView(rel, s.Unit, known)
		if err != nil {
			return errors.Trace(err)
		}
		s.Relations = append(s.Relations, v)
	}
	return nil
}

// readTold fills in what config-changed is about, and its hashes.
func (s *Snapshot) readTold(r docs, application string) error {
	c, err := r.config(application)
	if err != nil {
		return errors.Trace(err)
	}
	m, err := r.machine(s.Unit.Machine)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return errors.Trace(err)
	}
	s.Told = Told{Charm: c.Charm.URL, Options: c.Values, Trust: c.Trust, Addresses: m.Addresses}
	if s.ConfigHash, err = hashOf(s.Told.Charm, s.Told.Options, s.Told.Trust, s.Told.Addresses); err != nil {
		return errors.Trace(err)
	}
	s.SettingsHash, err = hashOf(s.Told.Options, s.Told.Trust, s.Told.Addresses)
	return errors.Trace(err)
}

// hashOf is a short hash of values as JSON.
func hashOf(values ...any) (string, error) {
	b, err := json.Marshal(values)
	if err != nil {
		return "", errors.Trace(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}
