package hookcontext

import (
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// GrantSecret lets the remote application of a relation, or one of its units,
// read one of the unit's secrets, for as long as the relation is there. The
// error is NotValid where the units were granted it one by one.
func (c *Context) GrantSecret(id model.SecretID, relation model.RelationID, unit model.UnitName) error {
	r, err := c.Relation(relation)
	if err != nil {
		return errors.Trace(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.ownSecret(id)
	if err != nil {
		return errors.Trace(err)
	}
	grants := c.grants(s)
	g := model.SecretGrant{Target: r.RemoteApp, Relation: relation}
	// A grant ends with its relation: one through another relation is none for
	// this one.
	if slices.Contains(grants, g) {
		return nil
	}
	if unit != "" {
		g.Target = string(unit)
	} else if slices.ContainsFunc(grants, func(o model.SecretGrant) bool {
		return o.Relation == relation && o.Target != r.RemoteApp && model.UnitName(o.Target).Application() == r.RemoteApp
	}) {
		return errors.NewNotValid(nil, "any unit level grants need to be revoked before granting access to the corresponding application")
	}
	if slices.Contains(grants, g) {
		return nil
	}
	p := c.changeOf(id)
	p.Grant = append(p.Grant, g)
	p.Revoke = slices.DeleteFunc(p.Revoke, func(o model.SecretGrant) bool { return o == g })
	return nil
}

// RevokeSecret takes grants back: those of a unit, of an application with its
// units, or of whoever has it through a relation.
func (c *Context) RevokeSecret(id model.SecretID, target string, relation model.RelationID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.ownSecret(id)
	if err != nil {
		return errors.Trace(err)
	}
	for _, g := range c.grants(s) {
		switch {
		case target != "" && g.Target != target && model.UnitName(g.Target).Application() != target:
			continue
		case relation != model.NoRelation && g.Relation != relation:
			continue
		}
		p := c.changeOf(id)
		p.Grant = slices.DeleteFunc(p.Grant, func(o model.SecretGrant) bool { return o == g })
		p.Revoke = append(p.Revoke, g)
	}
	return nil
}

// grants are a secret's with what the hook did.
func (c *Context) grants(s model.SecretInfo) []model.SecretGrant {
	grants := slices.Clone(s.Grants)
	if p := c.pendingSecret(SecretRef{ID: s.ID}); p != nil {
		grants = slices.DeleteFunc(grants, func(g model.SecretGrant) bool { return slices.Contains(p.Revoke, g) })
		grants = append(grants, p.Grant...)
	}
	return grants
}
