package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v2"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// newest is the base of a bundle in which nobody says any: the newest one with long-term
// support that Juju 3.6 takes. Source: docs/spec/juju-clients.md §13.3.
func newest() model.Base { return model.Base{Name: "ubuntu", Channel: "24.04"} }

// ExportOptions say what a bundle has that is made of a model.
type ExportOptions struct {
	Defaults bool // options that nobody has set, too
	Series   bool // the names that bases had before
}

// Export is a model as a bundle: what Read takes to make the same again. What only an
// overlay may have is a document of its own. The error is NotFound where there is
// nothing to export. Source: docs/spec/juju-clients.md §13.3.
func Export(p Picture, o ExportOptions) (string, error) {
	apps := p.alive()
	if len(apps) == 0 {
		return "", errors.NewNotFound(nil, "nothing to export as there are no applications")
	}
	e := export{Picture: p, ExportOptions: o, base: p.commonBase(apps)}
	var top, all, overlay yaml.MapSlice
	if !slices.ContainsFunc(apps, func(a state.ApplicationView) bool { return !a.Sidecar }) {
		top = add(top, "bundle", "kubernetes")
	}
	top = add(top, "default-base", stable(e.base))
	if o.Series {
		top = add(top, "series", e.base.Series())
	}
	var saas yaml.MapSlice
	for _, s := range p.consumed() {
		saas = add(saas, s.Name, yaml.MapSlice{{Key: "url", Value: s.URL}})
	}
	top = add(top, "saas", saas)
	for _, app := range apps {
		all = add(all, app.Name, e.application(app))
		if own := e.ofOverlay(app); len(own) > 0 {
			overlay = add(overlay, app.Name, own)
		}
	}
	top = add(top, "applications", all)
	top = add(top, "machines", e.machines(apps))
	top = add(top, "relations", p.relations())
	text, err := yaml.Marshal(top)
	if err != nil || len(overlay) == 0 {
		return string(text), errors.Annotate(err, "cannot write the bundle")
	}
	more, err := yaml.Marshal(yaml.MapSlice{{Key: "applications", Value: overlay}})
	return string(text) + "--- # overlay.yaml\n" + string(more), errors.Annotate(err, "cannot write the bundle")
}

// Unsaid are the sentences on what a bundle that Export makes doesn't say: where local
// charms are, and which files resources are.
func (p Picture) Unsaid() []string {
	var charms, files []string
	for _, app := range p.alive() {
		if strings.HasPrefix(app.ApplicationDoc.Charm, "local:") {
			charms = append(charms, app.ApplicationDoc.Charm)
		}
		for _, name := range slices.Sorted(maps.Keys(app.Resources)) {
			if r := app.Resources[name]; r.Image == nil && (r.Hub == nil || !ofHub(app)) {
				files = append(files, fmt.Sprintf("%s of %s", name, app.Name))
			}
		}
	}
	var all []string
	if slices.Sort(charms); len(charms) > 0 {
		all = append(all, strings.Join(slices.Compact(charms), ", ")+": deploy knows these charms in this store alone; put their paths to have the bundle anywhere else")
	}
	if len(files) > 0 {
		all = append(all, "resources that are files aren't in the bundle: "+strings.Join(files, ", "))
	}
	return all
}

// add adds a key, unless its value is nothing.
func add(to yaml.MapSlice, key string, value any) yaml.MapSlice {
	switch v := value.(type) {
	case string:
		if v == "" {
			return to
		}
	case bool:
		if !v {
			return to
		}
	case []string:
		if len(v) == 0 {
			return to
		}
	case [][2]string:
		if len(v) == 0 {
			return to
		}
	case yaml.MapSlice:
		if len(v) == 0 {
			return to
		}
	}
	return append(to, yaml.MapItem{Key: key, Value: value})
}

// texts is a map of texts, sorted by its keys.
func texts(of map[string]string) yaml.MapSlice {
	var all yaml.MapSlice
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, yaml.MapItem{Key: key, Value: of[key]})
	}
	return all
}

// stable is a base as bundles have it.
func stable(base model.Base) string { return base.String() + "/stable" }

// commonBase is the base that a bundle says for all: the only one that there is, or the
// model's own, or the newest.
func (p Picture) commonBase(apps []state.ApplicationView) model.Base {
	used := map[model.Base]bool{}
	for _, app := range apps {
		if base := app.OnBase(); base.Name != "" {
			used[base] = true
		}
	}
	for base := range used {
		if len(used) == 1 {
			return base
		}
	}
	if p.Base.Name != "" {
		return p.Base
	}
	return newest()
}

// export is a bundle that is being made.
type export struct {
	Picture
	ExportOptions
	base model.Base
}

// application is one as bundles have it.
func (e export) application(app state.ApplicationView) yaml.MapSlice {
	var out yaml.MapSlice
	if ofHub(app) {
		out = add(out, "charm", app.Hub.Name)
		out = add(out, "channel", app.Hub.Channel)
		out = add(out, "revision", app.CharmDoc.Revision)
	} else {
		out = add(out, "charm", app.ApplicationDoc.Charm)
	}
	if base := app.OnBase(); base.Name != "" && base != e.base {
		if e.Series {
			out = add(out, "series", base.Series())
		}
		out = add(out, "base", stable(base))
	}
	out = add(out, "resources", resources(app))
	switch {
	case app.Sidecar:
		out = add(out, "scale", app.Scale)
	case !app.Subordinate:
		out = add(out, "num_units", len(app.Units))
		out = add(out, "to", machinesOf(app))
	}
	out = add(out, "expose", app.Exposed && len(app.ExposedEndpoints) == 0)
	out = add(out, "options", e.options(app.Name))
	out = add(out, "annotations", texts(app.Annotations))
	out = add(out, "constraints", constraintText(app.Constraints))
	out = add(out, "storage", storages(app))
	return add(out, "trust", app.Trust)
}

// machinesOf are those of an application's units, one after the other.
func machinesOf(app state.ApplicationView) []string {
	var ids []string
	for _, u := range app.Units {
		ids = append(ids, u.Machine)
	}
	return ids
}

// ofHub says whether an application's charm is a hub's now, not only was so once.
func ofHub(app state.ApplicationView) bool {
	return app.Hub != nil && state.FromHub(app.ApplicationDoc.Charm)
}

// resources are the revisions of those of a hub that an application has, and references
// of images that it was given.
func resources(app state.ApplicationView) yaml.MapSlice {
	var all yaml.MapSlice
	for _, name := range slices.Sorted(maps.Keys(app.Resources)) {
		switch r := app.Resources[name]; {
		case r.Hub != nil && ofHub(app):
			all = append(all, yaml.MapItem{Key: name, Value: *r.Hub})
		case r.Image != nil:
			all = append(all, yaml.MapItem{Key: name, Value: r.Image.Reference})
		}
	}
	return all
}

// options are those that somebody has set, unitd's own too, or all that have a value.
func (e export) options(application string) yaml.MapSlice {
	config := e.Config[application]
	values := map[string]any{}
	for name, v := range config.Set {
		values[name] = v
	}
	for name, v := range config.Values {
		if e.Defaults && v != nil {
			values[name] = v
		}
	}
	for _, name := range deploy.Options() {
		if v, ok := deploy.OptionValue(config, name); ok && v != nil && name != "trust" {
			values[name] = v
		}
	}
	var all yaml.MapSlice
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, yaml.MapItem{Key: name, Value: values[name]})
	}
	return all
}

// storages are the directives for what units get of storage.
func storages(app state.ApplicationView) yaml.MapSlice {
	all := map[string]string{}
	for name, spec := range app.CharmDoc.Charm.Storage {
		if d := spec.Complete(app.Storage[name]); d.Count > 0 {
			all[name] = fmt.Sprintf("%s,%d,%dM", d.Pool, d.Count, d.Size)
		}
	}
	return texts(all)
}

// machines are those that units are on, by their numbers.
func (e export) machines(apps []state.ApplicationView) yaml.MapSlice {
	used := map[string]bool{}
	for _, app := range apps {
		if !app.Subordinate && !app.Sidecar {
			for _, id := range machinesOf(app) {
				used[id] = true
			}
		}
	}
	var all yaml.MapSlice
	for _, m := range e.Status.Machines {
		if used[m.ID] {
			of := add(yaml.MapSlice{}, "constraints", constraintText(m.Constraints))
			of = add(of, "annotations", texts(m.Annotations))
			if base, err := model.ParseBase(m.AskedBase); err == nil && base != e.base {
				of = add(of, "base", stable(base))
			}
			all = append(all, yaml.MapItem{Key: m.ID, Value: of})
		}
	}
	return all
}

// ofOverlay is what an overlay alone may say of an application.
func (e export) ofOverlay(app state.ApplicationView) yaml.MapSlice {
	var offers yaml.MapSlice
	for _, o := range e.Status.Offers {
		if o.Application != app.Name {
			continue
		}
		acl := maps.Clone(o.Access)
		delete(acl, everyone)
		offers = add(offers, o.Name, add(add(nil, "endpoints", endpointNames(o.OfferDoc)), "acl", texts(acl)))
	}
	return add(add(nil, exposedEndpoints, exposures(app.ExposedEndpoints)), offersKey, offers)
}

// exposures are to whom endpoints are exposed, as bundles say it.
func exposures(of map[string]state.ExposedTo) yaml.MapSlice {
	var all yaml.MapSlice
	for _, endpoint := range slices.Sorted(maps.Keys(of)) {
		to := add(yaml.MapSlice{}, "expose-to-spaces", of[endpoint].Spaces)
		all = append(all, yaml.MapItem{Key: endpoint, Value: add(to, "expose-to-cidrs", of[endpoint].CIDRs)})
	}
	return all
}

// inOrder is a pair in the order of its words.
func inOrder(pair [2]string) [2]string {
	if pair[0] > pair[1] {
		return [2]string{pair[1], pair[0]}
	}
	return pair
}

func sortPairs(pairs [][2]string) {
	slices.SortFunc(pairs, func(a, b [2]string) int {
		return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1])
	})
}
