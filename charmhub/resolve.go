package charmhub

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
)

// The types of what a hub has.
const (
	TypeCharm  = "charm"
	TypeBundle = "bundle"
)

// Latest stands for the revision that a channel has.
const Latest = -1

// Want says which release of a charm or bundle is wanted.
type Want struct {
	Name string
	// Channel is where it is; none: what is stable in the default track.
	Channel Channel
	// Revision is that of the charm, whatever channel it is in, or Latest.
	Revision int
	// Base is what it is to run on, if somebody has said so; Prefer is the one of
	// those that the hub has that is taken else, if it is among them.
	Base, Prefer Base
}

// Runs is what an application is made of, whose charm a newer release is wanted for. The
// zero value: none.
type Runs struct {
	ID       string
	Revision int
	Base     Base
}

// Release is what a hub has for a Want.
type Release struct {
	ID, Name, Type string
	Revision       int
	// Channel is where it was found, or, for a revision, that of the Want.
	Channel Channel
	// Base is the one that the hub was asked for; zero: it didn't have to be.
	Base      Base
	Bases     []Base
	Version   string
	Metadata  string // its metadata.yaml
	Download  Download
	Resources []Resource
	// Seen is when the hub has said so.
	Seen time.Time
	// Old: it is the hub's last answer, as it can't be reached.
	Old bool `json:"-"`
}

// actions are the words of requests for what is wanted.
const (
	actionInstall  = "install"
	actionDownload = "download"
	actionRefresh  = "refresh"
)

// Install finds the release that is to be deployed. The error is NotFound where the hub
// has none, and says then which there are; ErrUnreachable where it can't be reached and
// hasn't been asked for that before.
// Source: docs/spec/juju-clients.md §12.3.
func (c *Client) Install(ctx context.Context, w Want) (Release, error) {
	return c.resolve(ctx, actionInstall, w, Runs{})
}

// Look is Install for who only wants to look, or to download.
func (c *Client) Look(ctx context.Context, w Want) (Release, error) {
	return c.resolve(ctx, actionDownload, w, Runs{})
}

// Refresh finds the release of a channel for what runs already.
func (c *Client) Refresh(ctx context.Context, w Want, runs Runs) (Release, error) {
	if runs.ID == "" || w.Revision != Latest {
		return c.resolve(ctx, actionInstall, w, Runs{})
	}
	return c.resolve(ctx, actionRefresh, w, runs)
}

// key is what the answer is kept under: of the URL, the name, the channel or revision,
// the base and the architecture.
// Source: docs/spec/juju-clients.md §12.8.
func (c *Client) key(w Want) string {
	which := w.Channel.Or(Channel{Risk: Stable}).String()
	if w.Revision != Latest {
		which = fmt.Sprint("revision ", w.Revision)
	}
	base := w.Base
	if !base.Known() {
		base = w.Prefer
	}
	return strings.Join([]string{c.URL, w.Name, which, base.String(), c.Architecture}, " ")
}

// resolve asks, and keeps the answer. A revision that is here already needs no question;
// where there is no answer the last one serves.
func (c *Client) resolve(ctx context.Context, do string, w Want, runs Runs) (Release, error) {
	last, kept := c.Cache.answer(c.key(w))
	if kept && w.Revision != Latest && c.Cache.Has(last.Download.key(last.Type)) {
		return c.follow(last, w), nil
	}
	r, err := c.resolveNow(ctx, do, w, runs)
	switch {
	case err == nil:
		r.Seen = c.Clock.Now().UTC()
		return c.follow(r, w), c.Cache.keepAnswer(c.key(w), r)
	case !errors.Is(err, ErrUnreachable) || !kept:
		return Release{}, err
	case !c.Offline:
		c.note("WARNING Charmhub can't be reached; using revision %d of %q, seen %s", last.Revision, last.Name, last.Seen.Format("2006-01-02"))
	}
	last.Old = true
	return c.follow(last, w), nil
}

// follow has a release be of the channel that is wanted, where the answer said none.
func (c *Client) follow(r Release, w Want) Release {
	if w.Revision != Latest || r.Channel == (Channel{}) {
		r.Channel = w.Channel.Or(Channel{Risk: Stable})
	}
	return r
}

func (c *Client) resolveNow(ctx context.Context, do string, w Want, runs Runs) (Release, error) {
	base := w.Base
	base.Architecture = c.Architecture
	got, err := c.act(ctx, c.question(do, w, base, runs))
	if err != nil {
		return Release{}, err
	}
	tried := "resolving error"
	if f := got.Error; f != nil && (f.Code == codeInvalidBase || f.Code == codeInvalidPlatform) && !base.Known() && w.Revision == Latest {
		if base, err = c.choose(*f, w); err != nil {
			return Release{}, err
		}
		if got, err = c.act(ctx, c.question(do, w, base, runs)); err != nil {
			return Release{}, err
		}
		tried = "resolving retry error"
	}
	switch f := got.Error; {
	case f == nil:
	case f.Code == codeRevisionNotFound || f.Code == codeInvalidBase || f.Code == codeInvalidPlatform:
		if w.Revision != Latest {
			return Release{}, errors.NewNotFound(nil, fmt.Sprintf("%s: %q has no revision %d: %s", tried, w.Name, w.Revision, f.said()))
		}
		return Release{}, f.noRelease(w.Channel, base)
	case errors.Is(f.err(tried), errors.NotFound):
		return Release{}, errors.NewNotFound(nil, fmt.Sprintf("%v: %q", f.err(tried), w.Name))
	default:
		return Release{}, f.err(tried)
	}
	return got.release(base)
}

// question is the request for what is wanted, on a base.
// Source: docs/spec/juju-clients.md §12.2.
func (c *Client) question(do string, w Want, base Base, runs Runs) request {
	asked := base.asked()
	q := request{Context: []tracked{}, Fields: refreshFields()}
	a := action{Action: do, Key: "1", Name: w.Name}
	switch {
	case do == actionRefresh:
		runs.Base.Architecture = c.Architecture
		if base.Known() {
			runs.Base = base
		}
		q.Context = append(q.Context, tracked{
			Key: a.Key, ID: runs.ID, Revision: runs.Revision, Base: runs.Base.asked(),
			Channel: w.Channel.Or(Channel{Risk: Stable}).String(),
		})
		a.ID, a.Name = runs.ID, ""
	case w.Revision != Latest:
		a.Revision = &w.Revision
	default:
		a.Channel, a.Base = w.Channel.Or(Channel{Risk: Stable}).String(), &asked
	}
	q.Actions = []action{a}
	return q
}

// act asks for one action and returns its part of the answer.
func (c *Client) act(ctx context.Context, q request) (entry, error) {
	b, err := c.ask(ctx, http.MethodPost, c.path("refresh"), q)
	if err != nil {
		return entry{}, err
	}
	got, err := parseAction(b, q.Actions[0].Key)
	return got, errors.Annotatef(err, "the answer of %s", c.URL)
}

// parseAction reads the answer to the action with that key.
func parseAction(b []byte, key string) (entry, error) {
	var a answer
	if err := parse(b, &a); err != nil {
		return entry{}, err
	}
	if len(a.Errors) > 0 {
		return entry{Error: &a.Errors[0]}, nil
	}
	i := slices.IndexFunc(a.Results, func(e entry) bool { return e.Key == key })
	switch {
	case i < 0:
		return entry{}, notValid("it says nothing of what was asked")
	case a.Results[i].Error == nil && a.Results[i].Result == "error":
		return entry{Error: &fault{Message: "no reason is given"}}, nil
	}
	return a.Results[i], nil
}

// choose is the base that is asked for where a charm doesn't run on any.
// Source: docs/spec/juju-clients.md §12.3, step 2.
func (c *Client) choose(f fault, w Want) (Base, error) {
	if len(f.Extra.DefaultBases) == 0 {
		return Base{}, errors.NewNotFound(nil, fmt.Sprintf("no releases found for channel %q", w.Channel.Or(Channel{Risk: Stable})))
	}
	fit := slices.DeleteFunc(slices.Clone(f.Extra.DefaultBases), func(b Base) bool { return !b.runsOn(c.Architecture) })
	if len(fit) == 0 {
		return Base{}, errors.NewNotFound(nil, fmt.Sprintf("bases matching architecture %q not found", c.Architecture))
	}
	base := fit[0]
	if i := slices.IndexFunc(fit, func(b Base) bool { return w.Prefer.Known() && b.String() == w.Prefer.String() }); i >= 0 {
		base = fit[i]
	}
	base.Architecture = c.Architecture
	return base, nil
}

// release is what an answer says, checked: names that could lead elsewhere, hashes and
// sizes that can't be are NotValid.
func (e entry) release(base Base) (Release, error) {
	r := Release{
		ID: e.Charm.ID, Name: e.Charm.Name, Type: e.Charm.Type, Revision: e.Charm.Revision, Bases: e.Charm.Bases,
		Version: e.Charm.Version, Metadata: e.Charm.Metadata, Download: e.Charm.Download, Resources: e.Charm.Resources,
	}
	if r.ID == "" {
		r.ID = e.ID
	}
	if r.Name == "" {
		r.Name = e.Name
	}
	if base.Known() {
		r.Base = base
	}
	if e.Channel != "" {
		channel, err := ParseChannel(e.Channel)
		if err != nil {
			return r, err
		}
		r.Channel = channel
	}
	switch {
	case !ValidName(r.Name):
		return r, notValid("the answer names %q, which can't be a charm", r.Name)
	case r.Type != TypeCharm && r.Type != TypeBundle:
		return r, notValid("the answer says that %q is a %q, neither a charm nor a bundle", r.Name, r.Type)
	case r.Revision < 0:
		return r, notValid("the answer says revision %d of %q", r.Revision, r.Name)
	}
	if err := r.Download.check(); err != nil {
		return r, errors.Annotatef(err, "%s %q", r.Type, r.Name)
	}
	for _, res := range r.Resources {
		if err := res.check(); err != nil {
			return r, err
		}
	}
	return r, nil
}
