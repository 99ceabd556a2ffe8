package state

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Hub is where an application's charm comes from, if that is a hub, and what later
// refreshes follow.
//
// Source: docs/spec/juju-clients.md §12.6.
type Hub struct {
	// ID is the hub's own for the charm, Name what it is called there.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Channel is the one that is followed, also after a revision was asked for.
	Channel string `json:"channel"`
}

const hubPrefix = "ch:"

// hubURL is that of a charm of a hub. Source: docs/spec/juju-clients.md §12.6.
func hubURL(architecture, name string, revision int) string {
	return fmt.Sprintf("%s%s/%s-%d", hubPrefix, architecture, name, revision)
}

// FromHub says whether a charm's URL is that of one from a hub.
func FromHub(url string) bool { return strings.HasPrefix(url, hubPrefix) }

// formerCharmDoc is there for a charm of a hub that was removed: a revision never
// changes, and an agent may know it still.
type formerCharmDoc struct {
	SHA256 string `json:"sha256"`
}

// AddHubCharm stores a revision of a charm that comes from a hub, where it has that name,
// and returns its URL, "ch:<architecture>/<name>-<revision>". What the model has already
// is taken as it is. The error is AlreadyExists for other content than that revision has
// had in the model before.
func (m *Model) AddHubCharm(ctx context.Context, architecture, name string, revision int, c model.Charm, sha string, r io.Reader) (string, error) {
	size, err := m.storeBlob(ctx, sha, r)
	if err != nil {
		return "", errors.Annotatef(err, "cannot store charm %q", name)
	}
	doc := CharmDoc{SHA256: sha, Size: size, Charm: c, Revision: revision, URL: hubURL(architecture, name, revision)}
	_, err = m.update(ctx, func(tx *txn) error {
		var there CharmDoc
		known, err := tx.find(charmKey(doc.URL), &there)
		if err != nil {
			return errors.Trace(err)
		}
		if !known {
			var former formerCharmDoc
			if known, err = tx.find(formerCharmKey(doc.URL), &former); err != nil {
				return errors.Trace(err)
			}
			there.SHA256 = former.SHA256
		}
		if known && there.SHA256 != sha {
			return errors.NewAlreadyExists(nil, fmt.Sprintf("revision %d of charm %q had other content when this model got it, "+
				"and a revision never changes: release it as another one, or deploy it by its path", revision, name))
		}
		if err := tx.put(newCharmKey(doc.URL), newCharmDoc{m.clock.Now().UTC()}); err != nil {
			return errors.Trace(err)
		}
		if there.URL != "" {
			return nil
		}
		if err := tx.refer(File{SHA256: sha, Size: size}); err != nil {
			return errors.Trace(err)
		}
		return tx.put(charmKey(doc.URL), doc)
	})
	return doc.URL, errors.Trace(err)
}

// HeldFromHub is the URL of a revision of a hub's charm that the model has; not ok: it
// hasn't.
func (m *Model) HeldFromHub(ctx context.Context, architecture, name string, revision int) (url string, ok bool, err error) {
	url = hubURL(architecture, name, revision)
	_, err = m.Charm(ctx, url)
	if errors.Is(err, errors.NotFound) {
		return "", false, nil
	}
	return url, err == nil, errors.Trace(err)
}

// Follow has later refreshes of an application follow another channel of its charm.
func (m *Model) Follow(ctx context.Context, name, channel string) error {
	return m.changeApplication(ctx, name, func(_ *txn, app *ApplicationDoc) error {
		if app.Hub == nil {
			return errors.NewNotValid(nil, fmt.Sprintf("the charm of application %q is a local one, which follows no channel", name))
		}
		hub := *app.Hub
		hub.Channel = channel
		app.Hub = &hub
		return nil
	})
}
