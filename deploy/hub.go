package deploy

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/charmhub/folder"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// HubVariable says which hub is meant where a model doesn't say so: a URL, or a
// directory of charms that stands for one.
const HubVariable = "CHARMHUB_URL"

// HubCacheDir is where charms, bundles and resources of hubs are kept.
func HubCacheDir() (string, error) { return cacheDir("hub") }

// Following has charms be found as a model's configuration says: which hub, and which
// names stand for charms by path.
func (d *Deployer) Following(m *state.Model) error {
	all, set, err := m.ModelConfig(d.Context())
	if err != nil {
		return err
	}
	url := ""
	if set[state.CharmhubURL] {
		url = all[state.CharmhubURL]
	}
	base, err := d.BaseOf(m)
	if err != nil {
		return err
	}
	d.followWhat(url, all[state.CharmAliases], base)
	return nil
}

// FollowingNew is Following for the first model of a controller, before that is made.
func (d *Deployer) FollowingNew(c state.ControllerDoc) error {
	set := c.ForModels(state.HostRegion)
	var base model.Base
	if text := set["default-base"]; text != "" {
		var err error
		if base, err = model.ParseBase(text); err != nil {
			return errors.Trace(err)
		}
	}
	d.followWhat(set[state.CharmhubURL], set[state.CharmAliases], base)
	return nil
}

func (d *Deployer) followWhat(url, aliases string, base model.Base) {
	d.hubURL, d.aliasFile, d.preferred = url, aliases, base
	d.hub, d.aliases = nil, nil
}

// Hub is a client of the hub that the model says that is followed, else the environment;
// else it is the public one.
func (d *Deployer) Hub() (*charmhub.Client, error) {
	if d.hub == nil {
		hub, err := d.HubAt(cmp.Or(d.hubURL, os.Getenv(HubVariable), charmhub.DefaultURL))
		if err != nil {
			return nil, err
		}
		d.hub = hub
	}
	d.hub.Offline = d.Offline
	return d.hub, nil
}

// HubAt is a client of a hub: its URL, or a directory that stands for one.
func (d *Deployer) HubAt(where string) (*charmhub.Client, error) {
	if err := state.CheckHub(where); err != nil {
		return nil, err
	}
	dir, err := HubCacheDir()
	if err != nil {
		return nil, err
	}
	c := charmhub.New(where)
	if path, is := hubDir(where); is {
		hub, err := folder.Open(path)
		if err != nil {
			return nil, err
		}
		c.URL, c.HTTP = hub.URL(), hub
	}
	c.Agent = strings.TrimSuffix("unitd/"+agent.Version(), "/")
	c.Architecture, c.Cache, c.Note = charmhub.Architecture(runtime.GOARCH), &charmhub.Cache{Dir: dir}, func(format string, args ...any) {
		d.Note("%s", render.Harmless(fmt.Sprintf(format, args...)))
	}
	c.HowElse = "deploy a file (./NAME.charm), or name a directory of charms with " + HubVariable + " or charmhub-url"
	if line := terminal.NewLine(d.stderr); line != nil {
		c.Progress = func(what string, done, size int64) {
			if done == size {
				line.Clear()
				return
			}
			line.Show(render.Harmless(what), downloaded(done, size))
		}
	}
	d.hubs = append(d.hubs, c)
	return c, nil
}

// hubDir is the directory that stands for a hub.
func hubDir(where string) (string, bool) {
	if u, err := url.Parse(where); err == nil && u.Scheme == "file" {
		return u.Path, true
	}
	return where, IsPath(where)
}

// IsPath says whether a word is one of the file system, by how it begins.
func IsPath(word string) bool {
	return strings.HasPrefix(word, ".") || strings.HasPrefix(word, "local:") || filepath.IsAbs(word)
}

// downloaded says how far a download is.
func downloaded(done, size int64) string {
	const mb = 1e6
	if size == 0 {
		return fmt.Sprintf("%.1f MB", float64(done)/mb)
	}
	return fmt.Sprintf("%.1f of %.1f MB", float64(done)/mb, float64(size)/mb)
}

// Wanted is a charm, or a bundle, as somebody has named it.
type Wanted struct {
	// Word is a path, or what a hub calls it.
	Word string
	// Channel and Revision say which of a hub's; empty and charmhub.Latest: nobody has
	// said so.
	Channel  string
	Revision int
	// Base is the one that units are to be on, if somebody has said so, and Prefer one
	// that is taken if the charm names it; zero: the model's.
	Base, Prefer model.Base
}

// Charm is a charm that was found, with the release that it is, where it comes from a
// hub.
type Charm struct {
	*charmdir.Charm
	Release *charmhub.Release
}

// Local is the path that a word stands for, of a charm or bundle on this host; empty: it
// is the name of one in a hub. A name is an error if something on this host has it, too.
// Source: docs/spec/juju-clients.md §10.2.
func (d *Deployer) Local(word string) (string, error) {
	name, said := strings.CutPrefix(word, "ch:")
	switch {
	case strings.HasPrefix(word, "local:"):
		path := strings.TrimPrefix(word, "local:")
		if path[:min(1, len(path))] != "." && !filepath.IsAbs(path) {
			path = "./" + path
		}
		return path, nil
	case !said && IsPath(word):
		return word, nil
	}
	if path, err := d.alias(name); err != nil || path != "" {
		return path, err
	}
	if _, err := os.Stat(word); err == nil && !said {
		return "", agent.Wrongf("The charm or bundle %q is ambiguous.\nTo deploy a local charm or bundle, run `unitd deploy ./%[1]s`\nTo deploy a charm or bundle from Charmhub, run `unitd deploy ch:%[1]s`", word)
	}
	switch {
	case charmhub.ValidName(name):
		return "", nil
	case charmhub.NamesRevision(name):
		return "", errors.New("cannot specify revision in a charm or bundle name. Please use --revision.")
	}
	return "", errors.NewNotValid(nil, fmt.Sprintf("charm or bundle name, %q, is not valid", name))
}

// Resolve asks the hub for what a word names there.
func (d *Deployer) Resolve(w Wanted) (charmhub.Release, error) {
	hub, err := d.Hub()
	if err != nil {
		return charmhub.Release{}, err
	}
	want, err := d.want(w)
	if err != nil {
		return charmhub.Release{}, err
	}
	return hub.Install(d.Context(), want)
}

// want is what the hub is asked for.
func (d *Deployer) want(w Wanted) (charmhub.Want, error) {
	want := charmhub.Want{Name: strings.TrimPrefix(w.Word, "ch:"), Revision: w.Revision, Base: hubBase(w.Base), Prefer: hubBase(cmp.Or(w.Prefer, d.preferred))}
	if w.Channel != "" {
		channel, err := charmhub.ParseChannel(w.Channel)
		if err != nil {
			return want, err
		}
		want.Channel = channel
	}
	return want, nil
}

func hubBase(b model.Base) charmhub.Base { return charmhub.Base{Name: b.Name, Channel: b.Channel} }

// Fetch has a release here, and reads it: a charm that can run here. It stays until the
// command ends.
func (d *Deployer) Fetch(r charmhub.Release) (Charm, error) {
	hub, err := d.Hub()
	if err != nil {
		return Charm{}, err
	}
	path, err := hub.Fetch(d.Context(), r)
	if err != nil {
		return Charm{}, err
	}
	charm, err := d.readDeployable(path)
	if err != nil {
		return Charm{}, errors.Annotatef(err, "charm %q of Charmhub, revision %d", r.Name, r.Revision)
	}
	return Charm{charm, &r}, nil
}

// Find finds the charm that somebody has named, by path or in a hub, and reads it.
// What names a bundle is NotValid.
func (d *Deployer) Find(w Wanted) (Charm, error) {
	path, err := d.Local(w.Word)
	if err != nil {
		return Charm{}, err
	}
	if path != "" {
		charm, err := d.readDeployable(path)
		return Charm{Charm: charm}, err
	}
	r, err := d.Resolve(w)
	if err != nil {
		return Charm{}, err
	}
	if r.Type != charmhub.TypeCharm {
		return Charm{}, errors.NewNotValid(nil, fmt.Sprintf("%q is a %s, not a charm", r.Name, r.Type))
	}
	return d.Fetch(r)
}

// HubOf is what an application follows that is made of a release; nil: of none.
func HubOf(r *charmhub.Release) *state.Hub {
	if r == nil {
		return nil
	}
	return &state.Hub{ID: r.ID, Name: r.Name, Channel: r.Channel.String()}
}

// From says where a charm comes from, as people are told.
// Source: docs/spec/juju-clients.md §10.2.
func From(r charmhub.Release) string {
	return fmt.Sprintf("charm-hub charm %q, revision %d in channel %s", r.Name, r.Revision, r.Channel)
}
