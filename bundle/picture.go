package bundle

import (
	"context"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Picture is what a model is, as far as a bundle can say it.
type Picture struct {
	Base   model.Base // the model's own; zero: it has none
	Status *state.FullStatus
	Config map[string]state.ApplicationConfig // by application
}

// Look takes the picture of a model; ofModel is the base that its configuration names.
func Look(ctx context.Context, m *state.Model, ofModel model.Base) (Picture, error) {
	p := Picture{Base: ofModel, Config: map[string]state.ApplicationConfig{}}
	var err error
	if p.Status, err = m.Status(ctx); err != nil {
		return p, errors.Trace(err)
	}
	for _, app := range p.Status.Applications {
		config, err := m.Config(ctx, app.Name)
		switch {
		case errors.Is(err, errors.NotFound): // it is gone since
		case err != nil:
			return p, errors.Trace(err)
		}
		p.Config[app.Name] = config
	}
	return p, nil
}

// alive are the applications that aren't on their way out, by name.
func (p Picture) alive() []state.ApplicationView {
	var apps []state.ApplicationView
	for _, app := range p.Status.Applications {
		if _, known := p.Config[app.Name]; known && app.Life == model.Alive {
			apps = append(apps, app)
		}
	}
	return apps
}

// app is the application of that name, if it isn't on its way out.
func (p Picture) app(name string) (state.ApplicationView, bool) {
	for _, app := range p.alive() {
		if app.Name == name {
			return app, true
		}
	}
	return state.ApplicationView{}, false
}

// consumed are the SAAS that aren't on their way out, by name.
func (p Picture) consumed() []state.SAASView {
	return slices.DeleteFunc(slices.Clone(p.Status.SAAS), func(s state.SAASView) bool { return s.Life != model.Alive })
}

// relations are pairs of "application:endpoint", each in the order of its words, sorted;
// no peers, and none that is on its way out.
func (p Picture) relations() [][2]string {
	var all [][2]string
	for _, r := range p.Status.Relations {
		if r.IsPeer() || r.Life != model.Alive || !p.ends(r) {
			continue
		}
		one, other := r.Endpoints[0], r.Endpoints[1]
		all = append(all, inOrder([2]string{one.Application + ":" + one.Name, other.Application + ":" + other.Name}))
	}
	sortPairs(all)
	return all
}

// ends says whether both ends of a relation can be named in a bundle.
func (p Picture) ends(r state.RelationDoc) bool {
	for _, e := range r.Endpoints {
		_, own := p.app(e.Application)
		consumed := slices.ContainsFunc(p.consumed(), func(s state.SAASView) bool { return s.Name == e.Application })
		if !own && !consumed {
			return false // as what stands in for an application that has consumed an offer
		}
	}
	return true
}
