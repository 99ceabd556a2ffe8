package folder

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/model"
)

func number(n int) string { return strconv.Itoa(n) }

// root is what the API's paths begin with.
const root = "/v2/charms/"

// ServeHTTP answers as a hub does; the directory's files are below /files.
// Source: docs/spec/juju-clients.md §12.1.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	base := "http://" + r.Host + "/files"
	if file, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
		http.ServeFileFS(w, r, os.DirFS(h.dir), file)
		return
	}
	_, rest, _ := strings.Cut(r.URL.Path, root)
	h.answer(w, r, rest, base)
}

// RoundTrip answers requests for the directory's URL, and for its files.
func (h *Hub) RoundTrip(r *http.Request) (*http.Response, error) {
	at := strings.TrimPrefix(r.URL.Path, h.dir)
	if rest, ok := strings.CutPrefix(at, root); ok {
		w := &written{header: http.Header{}, code: http.StatusOK}
		h.answer(w, r, rest, h.URL())
		return w.response(r, io.NopCloser(&w.body)), nil
	}
	w := &written{header: http.Header{}, code: http.StatusOK}
	f, err := os.Open(filepath.Join(h.dir, filepath.Base(at)))
	if err != nil {
		w.code = http.StatusNotFound
		return w.response(r, http.NoBody), nil
	}
	return w.response(r, f), nil
}

// written is an answer that goes over no network.
type written struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header, WriteHeader and Write are http.ResponseWriter.
func (w *written) Header() http.Header { return w.header }

// WriteHeader is part of http.ResponseWriter.
func (w *written) WriteHeader(code int) { w.code = code }

// Write is part of http.ResponseWriter.
func (w *written) Write(b []byte) (int, error) { return w.body.Write(b) }

func (w *written) response(r *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: w.code, Status: number(w.code) + " " + http.StatusText(w.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: body, ContentLength: -1, Request: r,
	}
}

// answer answers what is asked below the root; base is what the URLs of files begin with.
func (h *Hub) answer(w http.ResponseWriter, r *http.Request, path, base string) {
	words := strings.Split(path, "/")
	switch {
	case path == "refresh" && r.Method == http.MethodPost:
		h.refresh(w, r, base)
	case words[0] == "info" && len(words) == 2:
		h.info(w, words[1], r.URL.Query())
	case path == "find":
		h.find(w, r.URL.Query())
	case words[0] == "resources" && len(words) == 4:
		h.revisions(w, words[1], words[2], base)
	default:
		http.NotFound(w, r)
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who has gone hears nothing
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(tree{"error-list": []tree{{"code": code, "message": message}}})
}

// of are the releases of a charm or bundle, the newest first.
func (h *Hub) of(name string) []release {
	var all []release
	for _, r := range h.releases {
		if r.name == name {
			all = append(all, r)
		}
	}
	return all
}

func (h *Hub) info(w http.ResponseWriter, name string, q url.Values) {
	all := h.of(name)
	if len(all) == 0 {
		refuse(w, http.StatusNotFound, "not-found", "no charm or bundle with that name")
		return
	}
	t := described(all)
	channels := []tree{}
	seen := map[string]bool{}
	for _, r := range all { // the newest first
		for _, c := range r.channels {
			if of := q.Get("channel"); of != "" && of != c.String() && of != c.Risk {
				continue
			}
			for _, b := range r.bases {
				if key := c.String() + " " + b.String(); !seen[key] {
					seen[key] = true
					channels = append(channels, placed(r, c, b))
				}
			}
		}
	}
	t["channel-map"] = channels
	reply(w, t)
}

// described is a charm or bundle as a whole, with what its default channel has.
func described(all []release) tree {
	first, at := all[0], all[0].channels[0]
	if r, c, f := inChannel(all, charmhub.Channel{Risk: charmhub.Stable}, anywhere()); f == nil || r.name != "" {
		first, at = r, c
	}
	t := tree{
		"type": first.kind, "id": id(first.name), "name": first.name, "default-release": placed(first, at, first.bases[0]),
		"result": tree{"summary": first.charm.Summary, "description": first.charm.Description, "contains-charms": contained(first.bundle)},
	}
	return t
}

// contained are the charms of a bundle.
func contained(bundle string) []tree {
	var doc struct {
		Applications map[string]struct {
			Charm string `yaml:"charm"`
		} `yaml:"applications"`
	}
	_ = yaml.Unmarshal([]byte(bundle), &doc) // what can't be read names none
	var names []string
	for _, app := range doc.Applications {
		names = append(names, strings.TrimPrefix(app.Charm, "ch:"))
	}
	slices.Sort(names)
	out := []tree{}
	for _, name := range slices.Compact(names) {
		out = append(out, tree{"name": name})
	}
	return out
}

func placed(r release, c charmhub.Channel, b charmhub.Base) tree {
	version := r.charm.Version
	if version == "" {
		version = number(r.revision)
	}
	return tree{
		"channel": tree{"name": c.String(), "track": c.Track, "risk": c.Risk, "base": b, "released-at": r.at},
		"revision": tree{
			"revision": r.revision, "version": version, "created-at": r.at, "bases": r.bases, "download": tree{"size": r.size},
			"config-yaml": options(r.charm), "metadata-yaml": metadata(r.charm), "bundle-yaml": r.bundle,
		},
	}
}

func (h *Hub) find(w http.ResponseWriter, q url.Values) {
	results := []tree{}
	for i, r := range h.releases {
		if i > 0 && h.releases[i-1].name == r.name {
			continue
		}
		all := h.of(r.name)
		text := strings.ToLower(r.name + " " + r.charm.Summary)
		inIt := func(r release) bool {
			return slices.ContainsFunc(r.channels, func(c charmhub.Channel) bool { return c.String() == q.Get("channel") || c.Risk == q.Get("channel") })
		}
		switch {
		case !strings.Contains(text, strings.ToLower(q.Get("q"))), q.Has("type") && q.Get("type") != r.kind, q.Has("category"), q.Has("publisher"):
		case q.Has("channel") && !slices.ContainsFunc(all, inIt):
		default:
			results = append(results, described(all))
		}
	}
	reply(w, tree{"results": results})
}

func (h *Hub) revisions(w http.ResponseWriter, charm, name, base string) {
	all := h.of(charm)
	if len(all) == 0 {
		refuse(w, http.StatusNotFound, "resource-not-found", "no such resource")
		return
	}
	spec, declared := all[0].charm.Resources[name]
	if !declared {
		refuse(w, http.StatusNotFound, "resource-not-found", "no such resource")
		return
	}
	out := []charmhub.Resource{}
	for _, have := range h.resources {
		if have.charm != charm || have.name != name {
			continue
		}
		one, err := h.resource(have, base)
		if err != nil {
			refuse(w, http.StatusInternalServerError, "api-error", err.Error())
			return
		}
		one.Type, one.Filename, one.Description = spec.Type, spec.Filename, spec.Description
		out = append(out, one)
	}
	reply(w, tree{"revisions": out})
}

// metadata is as much of a charm's metadata.yaml as clients read.
func metadata(c model.Charm) string {
	if c.Name == "" {
		return ""
	}
	roles := map[model.Role]tree{}
	for name, r := range c.Endpoints {
		if roles[r.Role] == nil {
			roles[r.Role] = tree{}
		}
		roles[r.Role][name] = tree{"interface": r.Interface}
	}
	t := tree{"name": c.Name, "summary": c.Summary, "description": c.Description, "subordinate": c.Subordinate}
	for key, role := range map[string]model.Role{"provides": model.Provider, "requires": model.Requirer, "peers": model.Peer} {
		if len(roles[role]) > 0 {
			t[key] = roles[role]
		}
	}
	b, _ := yaml.Marshal(t) // of maps and words
	return string(b)
}

// options is a charm's config.yaml.
func options(c model.Charm) string {
	all := tree{}
	for name, o := range c.Options {
		one := tree{"type": o.Type, "description": o.Description}
		if o.Default != nil {
			one["default"] = o.Default
		}
		all[name] = one
	}
	b, _ := yaml.Marshal(tree{"options": all}) // of maps and words
	return string(b)
}
