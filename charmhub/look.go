package charmhub

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

var validName = pattern.New(`^[a-z][a-z0-9]*(?:-[a-z0-9]*[a-z][a-z0-9]*)*$`)

// ValidName says whether a text can be the name of a charm or bundle.
func ValidName(name string) bool { return len(name) < 256 && validName.MatchString(name) }

var withRevision = pattern.New(`^(.+)-[0-9]+$`)

// NamesRevision says whether a text is a name with a revision, as it used to be written.
func NamesRevision(name string) bool {
	m := withRevision.FindStringSubmatch(name)
	return m != nil && ValidName(m[1])
}

func infoFields() string {
	return strings.Join([]string{
		"result.categories.featured", "result.categories.name", "result.contains-charms.name", "result.contains-charms.package-id",
		"result.contains-charms.store-url", "result.description", "result.license", "result.publisher.display-name", "result.store-url",
		"result.summary", "result.used-by",
		"default-release.revision.config-yaml", "default-release.revision.metadata-yaml", "default-release.revision.bundle-yaml",
		"default-release.revision.bases.architecture", "default-release.revision.bases.name", "default-release.revision.bases.channel",
		"default-release.revision.revision", "default-release.revision.version", "default-release.revision.download.size",
		"default-release.channel.name", "default-release.channel.base.architecture", "default-release.channel.base.name",
		"default-release.channel.base.channel", "default-release.channel.released-at", "default-release.channel.risk",
		"default-release.channel.track",
		"channel-map.revision.created-at", "channel-map.revision.bases.architecture", "channel-map.revision.bases.name",
		"channel-map.revision.bases.channel", "channel-map.revision.revision", "channel-map.revision.version",
		"channel-map.revision.download.size",
		"channel-map.channel.name", "channel-map.channel.base.architecture", "channel-map.channel.base.name",
		"channel-map.channel.base.channel", "channel-map.channel.released-at", "channel-map.channel.risk", "channel-map.channel.track",
	}, ",")
}

func findFields() string {
	return strings.Join([]string{
		"result.publisher.display-name", "result.summary", "result.store-url", "default-release.revision.bases.architecture",
		"default-release.revision.bases.name", "default-release.revision.bases.channel", "default-release.revision.version",
	}, ",")
}

// Info tells of a charm or bundle, and of what is in its channels; NotFound: there is no
// such. Source: docs/spec/juju-clients.md §12.1.
func (c *Client) Info(ctx context.Context, name string, channel Channel) (Info, error) {
	q := url.Values{"fields": {infoFields()}}
	if channel != (Channel{}) {
		q.Set("channel", channel.String())
	}
	b, err := c.ask(ctx, http.MethodGet, c.path("info", name)+"?"+q.Encode(), nil)
	if err != nil {
		if errors.Is(err, errors.NotFound) {
			err = errors.NewNotFound(nil, fmt.Sprintf("No information found for charm or bundle with the name %q", name))
		}
		return Info{}, err
	}
	var info Info
	if err := parse(b, &info); err != nil {
		return Info{}, errors.Annotatef(err, "the answer of %s", c.URL)
	}
	if info.Name == "" {
		return Info{}, notValid("the answer of %s says nothing of %q", c.URL, name)
	}
	return info, nil
}

// Query says what is to be found.
type Query struct{ Text, Category, Channel, Type, Publisher string }

// Find lists the charms and bundles that fit, in the hub's order.
func (c *Client) Find(ctx context.Context, query Query) ([]Info, error) {
	q := url.Values{"fields": {findFields()}}
	if query.Text != "" {
		q.Set("q", query.Text)
	}
	for key, value := range map[string]string{"category": query.Category, "channel": query.Channel, "type": query.Type, "publisher": query.Publisher} {
		if value != "" {
			q.Set(key, value)
		}
	}
	b, err := c.ask(ctx, http.MethodGet, c.path("find")+"?"+q.Encode(), nil)
	if err != nil {
		if errors.Is(err, errors.NotFound) {
			err = errors.NewNotFound(nil, fmt.Sprintf("Nothing found for query %q.", query.Text))
		}
		return nil, err
	}
	var all found
	if err := parse(b, &all); err != nil {
		return nil, errors.Annotatef(err, "the answer of %s", c.URL)
	}
	if len(all.Errors) > 0 {
		return nil, all.Errors[0].err("cannot find")
	}
	return all.Results, nil
}

// ResourceRevision is a revision of a charm's resource; the error is NotFound, and says
// which there are, if there is no such.
func (c *Client) ResourceRevision(ctx context.Context, charm, resource string, revision int) (Resource, error) {
	key := strings.Join([]string{c.URL, charm, resource, fmt.Sprint(revision)}, " ")
	last, kept := c.Cache.answer(key)
	if kept && len(last.Resources) == 1 && c.Cache.Has(last.Resources[0].Download.key(resourceKind)) {
		return last.Resources[0], nil
	}
	b, err := c.ask(ctx, http.MethodGet, c.path("resources", charm, resource, "revisions"), nil)
	if err != nil {
		return Resource{}, errors.Annotatef(err, "resource %q of %q", resource, charm)
	}
	var all revisions
	if err := parse(b, &all); err != nil {
		return Resource{}, errors.Annotatef(err, "the answer of %s", c.URL)
	}
	if len(all.Errors) > 0 {
		return Resource{}, all.Errors[0].err(fmt.Sprintf("resource %q of %q", resource, charm))
	}
	i := slices.IndexFunc(all.Revisions, func(r Resource) bool { return r.Revision == revision })
	if i < 0 {
		var there []string
		for _, r := range all.Revisions {
			there = append(there, fmt.Sprint(r.Revision))
		}
		return Resource{}, errors.NewNotFound(nil, fmt.Sprintf("resource %q of %q has no revision %d: there are %s", resource, charm, revision, strings.Join(there, ", ")))
	}
	r := all.Revisions[i]
	r.Name = resource
	if err := r.check(); err != nil {
		return Resource{}, err
	}
	return r, c.Cache.keepAnswer(key, Release{Name: charm, Revision: revision, Resources: []Resource{r}, Seen: c.Clock.Now().UTC()})
}
