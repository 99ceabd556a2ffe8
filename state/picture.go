package state

import (
	"context"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Picture reads, in one view, all that hooks change: for comparing how the model
// was with how it is.
func (m *Model) Picture(ctx context.Context) (model.Picture, error) {
	p, err := m.picture(ctx, false)
	return p, errors.Trace(err)
}

// WholePicture is Picture with what people change: options, and what is exposed.
func (m *Model) WholePicture(ctx context.Context) (model.Picture, error) {
	p, err := m.picture(ctx, true)
	return p, errors.Trace(err)
}

func (m *Model) picture(ctx context.Context, whole bool) (model.Picture, error) {
	var p picture
	_, err := m.view(ctx, func(r docs) error {
		p = picture{docs: r, whole: whole}
		apps, err := list[ApplicationDoc](r, "app/")
		if err != nil {
			return errors.Trace(err)
		}
		for _, app := range apps {
			if err := p.application(app); err != nil {
				return errors.Annotatef(err, "application %s", app.Name)
			}
		}
		rels, err := list[RelationDoc](r, "relation/")
		if err != nil {
			return errors.Trace(err)
		}
		for _, rel := range rels {
			if err := p.relation(rel); err != nil {
				return errors.Annotatef(err, "relation %s", rel.Key)
			}
		}
		return p.secrets()
	})
	return p.facts, errors.Trace(err)
}

// picture is a model.Picture that is being taken.
type picture struct {
	docs
	whole bool
	facts model.Picture
}

// add adds a fact; an empty value says nothing, but for the kinds whose keys do.
func (p *picture) add(kind model.FactKind, of, key, value string) {
	if value != "" || kind == model.FactPort || kind == model.FactState || kind == model.FactOption {
		p.facts = append(p.facts, model.Fact{Kind: kind, Of: of, Relation: model.NoRelation, Key: key, Value: value})
	}
}

func (p *picture) application(app ApplicationDoc) error {
	p.facts = append(p.facts, model.There(model.FactApplication, app.Name, model.NoRelation, app.Life))
	p.add(model.FactApplication, app.Name, "charm", app.Charm)
	leader, err := p.leader(app.Name)
	if err != nil {
		return errors.Trace(err)
	}
	p.add(model.FactApplication, app.Name, "leader", string(leader.Unit))
	if app.StatusSet {
		s, err := p.status(ApplicationStatus, app.Name)
		if err != nil {
			return errors.Trace(err)
		}
		p.add(model.FactApplication, app.Name, "status", statusText(s))
	}
	settings, err := p.bag(leaderSettingsKey(app.Name))
	if err != nil {
		return errors.Trace(err)
	}
	for k, v := range settings {
		p.add(model.FactLeaderSettings, app.Name, k, v)
	}
	if p.whole {
		if err := p.options(app); err != nil {
			return errors.Trace(err)
		}
	}
	units, err := p.unitsOf(app.Name)
	if err != nil {
		return errors.Trace(err)
	}
	for _, u := range units {
		if err := p.unit(u); err != nil {
			return errors.Annotatef(err, "unit %s", u.Name)
		}
	}
	return nil
}

// options adds what people have said of an application.
func (p *picture) options(app ApplicationDoc) error {
	var conf configDoc
	if _, err := p.find(configKey(app.Name), &conf); err != nil {
		return errors.Trace(err)
	}
	for k, v := range conf.Values {
		p.add(model.FactOption, app.Name, k, fmt.Sprint(v))
	}
	if app.Exposed {
		p.add(model.FactApplication, app.Name, "exposed", "true")
	}
	return nil
}

func (p *picture) unit(u UnitDoc) error {
	name := string(u.Name)
	p.facts = append(p.facts, model.There(model.FactUnit, name, model.NoRelation, u.Life))
	p.add(model.FactUnit, name, "charm", u.Charm)
	p.add(model.FactUnit, name, "version", u.WorkloadVersion)
	s, _, err := p.unitStatus(u, true)
	if err != nil {
		return errors.Trace(err)
	}
	p.add(model.FactUnit, name, "status", statusText(s))
	var ports portsDoc
	if _, err := p.find(portsKey(u.Machine), &ports); err != nil {
		return errors.Trace(err)
	}
	for _, open := range ports.Units[u.Name].All() {
		p.add(model.FactPort, name, open.String(), "")
	}
	storage, err := p.storageOf(u)
	if err != nil {
		return errors.Trace(err)
	}
	for _, s := range Undetached(storage) {
		p.add(model.FactStorage, name, string(s.ID), s.Status().Status)
	}
	kept := map[string]string{}
	if _, err := p.find(charmStateKey(u.Name), &kept); err != nil {
		return errors.Trace(err)
	}
	for k, v := range kept {
		p.add(model.FactState, name, k, v)
	}
	return nil
}

// relation adds a relation with the databags of its applications and of the
// units that are in its scope: those of units that have left are still stored.
func (p *picture) relation(r RelationDoc) error {
	p.facts = append(p.facts, model.There(model.FactRelation, r.Key, r.ID, r.Life))
	for _, e := range r.Endpoints {
		if err := p.databag(r, e.Application, appSettingsKey(r.ID, e.Application)); err != nil {
			return errors.Trace(err)
		}
	}
	members, err := list[scopeDoc](p.docs, scopesOf(r.ID))
	if err != nil {
		return errors.Trace(err)
	}
	for _, member := range members {
		if err := p.databag(r, string(member.Unit), unitSettingsKey(r.ID, member.Unit)); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func (p *picture) databag(r RelationDoc, of, key string) error {
	application := of
	if name, err := model.ParseUnitName(of); err == nil {
		application = name.Application()
	}
	own, _, _ := r.Endpoint(application)
	settings, err := p.bag(key)
	for k, v := range settings {
		p.facts = append(p.facts, model.Fact{
			Kind: model.FactBag, Of: of, Relation: r.ID, Endpoint: own.String(), Key: k, Value: v,
		})
	}
	return errors.Trace(err)
}

// statusText is a status in a line: `active`, or `waiting "for db"`.
func statusText(s model.Status) string {
	if s.Message == "" {
		return s.Status
	}
	return fmt.Sprintf("%s %q", s.Status, s.Message)
}
