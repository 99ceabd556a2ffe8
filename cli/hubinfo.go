package cli

import (
	"slices"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

// hubInfo is what info shows of a charm or bundle: what is for an architecture, unless
// that is all, and for a base, if one is given.
// Source: docs/spec/juju-clients.md §12.9.
func hubInfo(info charmhub.Info, arch string, base model.Base) (render.HubInfo, error) {
	shown := render.HubInfo{
		Type: info.Type, ID: info.ID, Name: info.Name, Description: info.Result.Description, Publisher: info.Result.Publisher.Name,
		Summary: info.Result.Summary, StoreURL: info.Result.StoreURL, Channels: map[string]map[string][]render.HubRelease{},
	}
	for _, c := range info.Result.Categories {
		shown.Tags = append(shown.Tags, c.Name)
	}
	for _, placed := range info.ChannelMap {
		addRelease(&shown, placed, arch, base)
	}
	for _, b := range info.Default.Revision.Bases {
		shown.Supports = addBase(shown.Supports, b)
	}
	for _, risks := range shown.Channels {
		for _, releases := range risks {
			for i := range releases {
				if len(releases[i].Architectures) == 0 {
					releases[i].Architectures = []string{"all"}
				}
			}
			slices.SortStableFunc(releases, func(a, b render.HubRelease) int { return b.Revision - a.Revision })
		}
	}
	shown.Tracks = render.SortedTracks(shown.Channels)
	if info.Type == charmhub.TypeBundle {
		shown.Bundle = &render.HubBundle{Charms: []render.HubNamed{}}
		for _, c := range info.Result.Contains {
			shown.Bundle.Charms = append(shown.Bundle.Charms, render.HubNamed{Name: c.Name})
		}
		return shown, nil
	}
	charm, err := hubCharm(info)
	shown.Charm = charm
	return shown, errors.Annotatef(err, "what the hub says of %q", info.Name)
}

// addRelease adds what is in a channel for one base and architecture. Those of the same
// revision are shown as one.
func addRelease(shown *render.HubInfo, p charmhub.Placed, arch string, base model.Base) {
	at := p.Channel.Base
	if arch != "all" && at.Architecture != arch && at.Architecture != "all" {
		return
	}
	if base != (model.Base{}) && at.String() != base.String() && at.Known() {
		return
	}
	track, risk := p.Channel.Track, p.Channel.Risk
	if shown.Channels[track] == nil {
		shown.Channels[track] = map[string][]render.HubRelease{}
	}
	list := shown.Channels[track][risk]
	i := slices.IndexFunc(list, func(r render.HubRelease) bool { return r.Revision == p.Revision.Revision })
	if i < 0 {
		i = len(list)
		list = append(list, render.HubRelease{
			Track: track, Risk: risk, Version: p.Revision.Version, Revision: p.Revision.Revision, ReleasedAt: p.Channel.ReleasedAt,
			Size: p.Revision.Download.Size, Architectures: []string{}, Bases: []render.HubBase{},
		})
	}
	for _, b := range append([]charmhub.Base{at}, p.Revision.Bases...) {
		if arch == "all" || b.Architecture == arch || b.Architecture == "all" {
			list[i].Architectures = addWord(list[i].Architectures, b.Architecture)
			list[i].Bases = addBase(list[i].Bases, b)
		}
	}
	shown.Channels[track][risk] = list
}

// hubCharm is what its metadata.yaml and config.yaml say of a charm.
func hubCharm(info charmhub.Info) (*render.HubCharm, error) {
	var metadata struct {
		Subordinate bool                   `yaml:"subordinate"`
		Provides    map[string]hubEndpoint `yaml:"provides"`
		Requires    map[string]hubEndpoint `yaml:"requires"`
	}
	if err := yaml.Unmarshal([]byte(info.Default.Revision.Metadata), &metadata); err != nil {
		return nil, oneLine(err)
	}
	var config struct {
		Options map[string]any `yaml:"options"`
	}
	if err := yaml.Unmarshal([]byte(info.Default.Revision.Config), &config); err != nil {
		return nil, oneLine(err)
	}
	c := &render.HubCharm{Subordinate: metadata.Subordinate, UsedBy: info.Result.UsedBy}
	if len(config.Options) > 0 {
		c.Config = map[string]any{"Options": config.Options}
	}
	for key, endpoints := range map[string]map[string]hubEndpoint{"provides": metadata.Provides, "requires": metadata.Requires} {
		for name, e := range endpoints {
			if c.Relations == nil {
				c.Relations = map[string]map[string]string{}
			}
			if c.Relations[key] == nil {
				c.Relations[key] = map[string]string{}
			}
			c.Relations[key][name] = e.Interface
		}
	}
	return c, nil
}

// hubEndpoint is an endpoint in a metadata.yaml, which may be its interface alone.
type hubEndpoint struct{ Interface string }

// UnmarshalYAML reads both forms.
func (e *hubEndpoint) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		e.Interface = n.Value
		return nil
	}
	var long struct {
		Interface string `yaml:"interface"`
	}
	err := n.Decode(&long)
	e.Interface = long.Interface
	return err
}

func oneLine(err error) error {
	return errors.NewNotValid(nil, strings.Join(strings.Fields(err.Error()), " "))
}
