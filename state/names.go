package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// admin is the user whom all models belong to.
const admin = "admin"

// IsName says whether a word is a name of the model, which is no secret: its
// own, a user's, an application's, a unit's, also as a tag, or that of an endpoint of
// the application or of one that it is related with.
func (m *Model) IsName(ctx context.Context, application, word string) (bool, error) {
	if word == admin || word == m.Name() || word == m.UUID() {
		return true, nil
	}
	is := false
	_, err := m.view(ctx, func(r docs) (err error) {
		is, err = r.isName(application, word)
		return errors.Trace(err)
	})
	return is, errors.Trace(err)
}

func (d docs) isName(application, word string) (bool, error) {
	if model.ValidApplication(word) {
		var app ApplicationDoc
		found, err := d.find(applicationKey(word), &app)
		if err != nil || found {
			return found, errors.Trace(err)
		}
	}
	if unit, ok := unitOfTag(word); ok {
		word = string(unit)
	}
	if unit, err := model.ParseUnitName(word); err == nil {
		var doc UnitDoc
		if found, err := d.find(unitKey(unit), &doc); err != nil || found {
			return found, errors.Trace(err)
		}
	}
	return d.isEndpoint(application, word)
}

// unitOfTag is the unit whose tag that is: "shop/0" of "unit-shop-0".
func unitOfTag(tag string) (model.UnitName, bool) {
	const prefix = "unit-"
	for i := len(tag) - 1; i > len(prefix) && tag[:len(prefix)] == prefix; i-- {
		if tag[i] == '-' {
			unit, err := model.ParseUnitName(tag[len(prefix):i] + "/" + tag[i+1:])
			return unit, err == nil
		}
	}
	return "", false
}

// isEndpoint says whether an application, if there is such, has an endpoint of
// that name, or one that it is related with, or is related across models with an
// application or a unit of that name.
func (d docs) isEndpoint(application, word string) (bool, error) {
	app, err := d.application(application)
	if errors.Is(err, errors.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, errors.Trace(err)
	}
	charm, err := d.charm(app.Charm)
	if err != nil {
		return false, errors.Trace(err)
	}
	for _, e := range charm.Charm.EndpointsOf(application) {
		if e.Name == word {
			return true, nil
		}
	}
	rels, err := d.relationsOf(application)
	if err != nil {
		return false, errors.Trace(err)
	}
	for _, rel := range rels {
		_, other, _ := rel.Endpoint(application)
		stranger := rel.Across != nil && (other.Application == word || model.UnitName(word).Application() == other.Application)
		if other.Name == word || stranger {
			return true, nil
		}
	}
	return false, nil
}
