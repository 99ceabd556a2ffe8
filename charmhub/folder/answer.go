package folder

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/charmhub"
)

// tree is a part of an answer.
type tree = map[string]any

// question is a request for actions. Source: docs/spec/juju-clients.md §12.2.
type question struct {
	Context []struct {
		Key     string        `json:"instance-key"`
		ID      string        `json:"id"`
		Base    charmhub.Base `json:"base"`
		Channel string        `json:"tracking-channel"`
	} `json:"context"`
	Actions []action `json:"actions"`
}

type action struct {
	Action   string         `json:"action"`
	Key      string         `json:"instance-key"`
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Channel  string         `json:"channel"`
	Revision *int           `json:"revision"`
	Base     *charmhub.Base `json:"base"`
}

// fault is an action that has failed.
type fault struct {
	code, message string
	extra         tree
}

// maxQuestion is how long a request may be.
const maxQuestion = 1 << 20

// refresh answers actions. Source: docs/spec/juju-clients.md §12.3.
func (h *Hub) refresh(w http.ResponseWriter, r *http.Request, base string) {
	var q question
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQuestion)).Decode(&q); err != nil || q.Context == nil {
		refuse(w, http.StatusBadRequest, "bad-argument", "the request can't be read")
		return
	}
	results := []tree{}
	for _, a := range q.Actions {
		for _, c := range q.Context {
			if a.Action == "refresh" && c.Key == a.Key {
				a.ID, a.Channel, a.Base = c.ID, c.Channel, &c.Base
			}
		}
		entry := tree{"instance-key": a.Key, "name": a.Name, "id": a.ID, "result": a.Action}
		found, channel, f := h.act(a)
		if f == nil {
			charm, err := h.shown(found, base, a.Revision == nil)
			if err != nil {
				f = &fault{"api-error", err.Error(), nil}
			}
			entry["charm"], entry["name"], entry["id"] = charm, found.name, id(found.name)
		}
		switch {
		case f != nil:
			entry["result"], entry["error"] = "error", tree{"code": f.code, "message": f.message, "extra": f.extra}
		case a.Revision == nil:
			entry["effective-channel"], entry["released-at"] = channel.String(), found.at
		}
		results = append(results, entry)
	}
	reply(w, tree{"error-list": []tree{}, "results": results})
}

func id(name string) string { return "folder-" + name }

// act finds what an action asks for, and the channel that it is in.
func (h *Hub) act(a action) (release, charmhub.Channel, *fault) {
	var all []release
	for _, r := range h.releases {
		if r.name == a.Name || id(r.name) == a.ID {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		code := "name-not-found"
		if a.Name == "" {
			code = "id-not-found"
		}
		return release{}, charmhub.Channel{}, &fault{code, "no charm or bundle with that name", nil}
	}
	if a.Revision != nil {
		i := slices.IndexFunc(all, func(r release) bool { return r.revision == *a.Revision })
		if i < 0 {
			return release{}, charmhub.Channel{}, &fault{"revision-not-found", "no such revision", nil}
		}
		return all[i], charmhub.Channel{}, nil
	}
	channel, err := charmhub.ParseChannel(cmp.Or(a.Channel, charmhub.Stable))
	switch {
	case err != nil:
		return release{}, channel, &fault{"invalid-channel", err.Error(), nil}
	case a.Base == nil:
		return release{}, channel, &fault{"missing-charm-base", "a base is needed", nil}
	}
	return inChannel(all, channel, *a.Base)
}

// track is the default one: "latest", if anything is released to it, else the one of the
// highest version.
func track(all []release) string {
	var tracks []string
	for _, r := range all {
		for _, c := range r.channels {
			tracks = append(tracks, c.Track)
		}
	}
	if slices.Contains(tracks, latest) {
		return latest
	}
	return slices.MaxFunc(tracks, byNumbers)
}

// byNumbers compares tracks as versions: 9 comes before 14.
func byNumbers(a, b string) int {
	as, bs := strings.FieldsFunc(a, notInWord), strings.FieldsFunc(b, notInWord)
	for i := range min(len(as), len(bs)) {
		one, err := strconv.Atoi(as[i])
		other, otherErr := strconv.Atoi(bs[i])
		by := strings.Compare(as[i], bs[i])
		if err == nil && otherErr == nil {
			by = cmp.Compare(one, other)
		}
		if by != 0 {
			return by
		}
	}
	return cmp.Compare(len(as), len(bs))
}

func notInWord(r rune) bool { return r == '.' || r == '-' || r == '_' }

// inChannel is what a channel has for a base, of the releases of a charm.
func inChannel(all []release, want charmhub.Channel, base charmhub.Base) (release, charmhub.Channel, *fault) {
	if want.Track == "" {
		want.Track = track(all)
	}
	risks := charmhub.Risks()
	none := &fault{"revision-not-found", "nothing is released there", tree{"releases": released(all)}}
	if want.Branch != "" {
		return release{}, want, none
	}
	for i := slices.Index(risks, want.Risk); i >= 0; i-- {
		at := charmhub.Channel{Track: want.Track, Risk: risks[i]}
		for _, r := range all { // the newest first
			if !slices.Contains(r.channels, at) {
				continue
			}
			switch {
			case r.bases[0] == anywhere() || slices.ContainsFunc(r.bases, func(b charmhub.Base) bool { return b.String() == base.String() && base.Known() }):
				return r, at, nil
			case !base.Known():
				return r, at, &fault{"invalid-charm-base", "a base has to be named", tree{"default-bases": r.bases}}
			}
		}
	}
	return release{}, want, none
}

// released are all channels of releases, with their bases.
func released(all []release) []tree {
	out := []tree{}
	for _, r := range all {
		for _, c := range r.channels {
			for _, b := range r.bases {
				out = append(out, tree{"base": b, "channel": c.String()})
			}
		}
	}
	return out
}

// shown is a release in an answer, with its resources where a channel was asked for.
func (h *Hub) shown(r release, base string, withResources bool) (tree, error) {
	download, err := h.download(r.file, base)
	if err != nil {
		return nil, err
	}
	t := tree{
		"type": r.kind, "id": id(r.name), "name": r.name, "revision": r.revision, "version": cmp.Or(r.charm.Version, number(r.revision)),
		"summary": r.charm.Summary, "bases": r.bases, "download": download, "created-at": r.at,
		"metadata-yaml": metadata(r.charm), "config-yaml": options(r.charm),
	}
	if !withResources {
		return t, nil
	}
	all := []charmhub.Resource{}
	for _, have := range h.resources { // the newest first
		spec, declared := r.charm.Resources[have.name]
		if have.charm != r.name || !declared || slices.ContainsFunc(all, func(one charmhub.Resource) bool { return one.Name == have.name }) {
			continue
		}
		one, err := h.resource(have, base)
		if err != nil {
			return nil, err
		}
		one.Type, one.Filename, one.Description = spec.Type, spec.Filename, spec.Description
		all = append(all, one)
	}
	t["resources"] = all
	return t, nil
}

func (h *Hub) resource(have resource, base string) (charmhub.Resource, error) {
	download, err := h.download(have.file, base)
	return charmhub.Resource{Name: have.name, Revision: have.revision, Download: download}, err
}
