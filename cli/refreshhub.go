package cli

import (
	"fmt"
	"runtime"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// refreshHub is refresh of an application that follows a channel of a hub.
// Source: docs/spec/juju-clients.md §10.3.
func (a charmVerbs) refreshHub(m *state.Model, app state.ApplicationDoc, f refreshFlags) error {
	a.Offline = f.hub.offline
	if err := a.Following(m); err != nil {
		return err
	}
	followed, err := charmhub.ParseChannel(app.Hub.Channel)
	if err != nil {
		return errors.Annotatef(err, "application %q", app.Name)
	}
	channel := followed
	if f.hub.channel != "" {
		if channel, err = charmhub.ParseChannel(f.hub.channel); err != nil {
			return err
		}
		channel = channel.Of(followed)
	}
	old, err := m.Charm(a.Context(), app.Charm)
	if err != nil {
		return err
	}
	if f.hub.revision != latest {
		held, err := a.refreshHeld(m, app, channel.String(), f)
		if err != nil || held {
			return err
		}
	}
	release, err := a.newer(app, old, channel, f)
	if err != nil {
		return err
	}
	if release.Revision == old.Revision && release.Name == app.Hub.Name {
		return a.upToDate(m, app, old, release, f)
	}
	charm, err := a.Fetch(release)
	if err != nil {
		return err
	}
	if err := a.refreshFound(m, app.Name, charm, f, false); err != nil {
		return err
	}
	a.noteChannel(app, release.Channel.String())
	return nil
}

// newer is what the hub has for an application.
func (a charmVerbs) newer(app state.ApplicationDoc, old state.CharmDoc, channel charmhub.Channel, f refreshFlags) (charmhub.Release, error) {
	hub, err := a.Hub()
	if err != nil {
		return charmhub.Release{}, err
	}
	want := charmhub.Want{Name: app.Hub.Name, Channel: channel, Revision: f.hub.revision}
	runs := charmhub.Runs{ID: app.Hub.ID, Revision: old.Revision}
	onto, err := f.onto.parse(func(string, ...any) {})
	if err != nil {
		return charmhub.Release{}, err
	}
	if base, err := model.ParseBase(app.Base); onto != (model.Base{}) {
		runs.Base = charmhub.Base{Name: onto.Name, Channel: onto.Channel}
		want.Base = runs.Base
	} else if err == nil && !f.base() {
		runs.Base = charmhub.Base{Name: base.Name, Channel: base.Channel}
		want.Prefer = runs.Base
	}
	return hub.Refresh(a.Context(), want, runs)
}

// upToDate is refresh of an application that has its charm already: its resources may
// have newer revisions, and it may follow another channel from now on.
func (a charmVerbs) upToDate(m *state.Model, app state.ApplicationDoc, old state.CharmDoc, r charmhub.Release, f refreshFlags) error {
	set, err := configArgs(app.Name, f.config)
	if err != nil {
		return err
	}
	charm := deploy.Charm{Charm: &charmdir.Charm{Charm: old.Charm}, Release: &r}
	byHand, revisions := splitRevisions(f.resources)
	values, err := resourceArgs(old.Charm, byHand)
	if err != nil {
		return err
	}
	given, err := a.ResourcesFor(m, charm, values, revisions, app.Resources)
	if err != nil {
		return err
	}
	if err := checkBase(app, old.Charm, old.Charm, f); err != nil {
		return err
	}
	if err := a.checkMore(m, app.Name, old.Charm, f.more); err != nil {
		return err
	}
	if err := a.carryOutRefresh(m, app.Name, f, state.Refresh{Resources: given, Config: set, Hub: following(app, r.Channel.String())}); err != nil {
		return err
	}
	if len(given) > 0 {
		a.Note("charm %q: resources to be upgraded", app.Hub.Name)
	} else {
		a.Note("charm %q: already up-to-date", app.Hub.Name)
	}
	a.noteChannel(app, r.Channel.String())
	if err := a.afterRefresh(m, app.Name, app, old.Charm, old.Charm, f.more); err != nil {
		return err
	}
	return a.added()
}

// following is what an application follows in a channel.
func following(app state.ApplicationDoc, channel string) *state.Hub {
	hub := *app.Hub
	hub.Channel = channel
	return &hub
}

// noteChannel says that an application follows another channel from now on.
func (a charmVerbs) noteChannel(app state.ApplicationDoc, channel string) {
	if channel != app.Hub.Channel {
		a.Note("Note: all future refreshes will now use channel %q", channel)
	}
}

// refreshHeld is refresh to a revision that the model has, for which no hub is asked.
func (a charmVerbs) refreshHeld(m *state.Model, app state.ApplicationDoc, channel string, f refreshFlags) (bool, error) {
	url, held, err := m.HeldFromHub(a.Context(), charmhub.Architecture(runtime.GOARCH), app.Hub.Name, f.hub.revision)
	if err != nil || !held || len(f.resources) > 0 {
		return false, err
	}
	if err := a.refreshTo(app.Name, f.hub.revision, following(app, channel), f); err != nil {
		return true, err
	}
	if url == app.Charm {
		a.Note("charm %q: already up-to-date", app.Hub.Name)
	}
	a.noteChannel(app, channel)
	return true, nil
}

// switchToHub is refresh to a charm of a hub, whatever the application was made of.
func (a charmVerbs) switchToHub(name, word string, f refreshFlags) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return err
	}
	w := deploy.Wanted{Word: word, Channel: f.hub.channel, Revision: latest}
	if w.Channel == "" && app.Hub != nil && state.FromHub(app.Charm) {
		w.Channel = app.Hub.Channel
	}
	if w.Base, err = f.onto.parse(func(string, ...any) {}); err != nil {
		return err
	}
	if base, err := model.ParseBase(app.Base); err == nil && w.Base == (model.Base{}) && !f.base() {
		w.Base = base
	}
	r, err := a.Resolve(w)
	if err != nil {
		return err
	}
	if r.Type != charmhub.TypeCharm {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot refresh %q to %q: that is a %s", name, r.Name, r.Type))
	}
	charm, err := a.Fetch(r)
	if err != nil {
		return err
	}
	return a.refreshFound(m, name, charm, f, true)
}
