package cli

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/juju/errors"
	"github.com/spf13/pflag"

	"github.com/unitd/unitd/state"
)

// exposedTo are the flags of expose that say what is exposed, and to whom.
type exposedTo struct{ endpoints, spaces, cidrs []string }

func (e *exposedTo) declare(fs *pflag.FlagSet) {
	fs.StringSliceVar(&e.endpoints, "endpoints", nil, "only these endpoints, with commas between")
	fs.StringSliceVar(&e.spaces, "to-spaces", nil, "recorded: only to these spaces, with commas between; there is one network")
	fs.StringSliceVar(&e.cidrs, "to-cidrs", nil, "recorded: only to these networks, with commas between")
}

func (e exposedTo) given() bool { return len(e.endpoints)+len(e.spaces)+len(e.cidrs) > 0 }

// exposeTo exposes endpoints beside those that are exposed already.
func (a appVerbs) exposeTo(m *state.Model, name string, e exposedTo) error {
	for _, c := range e.cidrs {
		if _, err := netip.ParsePrefix(c); err != nil {
			return Usagef("%q is not a valid CIDR", c)
		}
	}
	spaces, err := m.Spaces(a.Context())
	if err != nil {
		return err
	}
	for _, s := range e.spaces {
		if !slices.ContainsFunc(spaces, func(doc state.SpaceDoc) bool { return doc.Name == s }) {
			return errors.NewNotFound(nil, fmt.Sprintf("space %q not found", s))
		}
	}
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return err
	}
	all := maps.Clone(app.ExposedEndpoints)
	if all == nil {
		all = map[string]state.ExposedTo{}
	}
	if app.Exposed && len(all) == 0 {
		all[""] = state.ExposedTo{} // as a whole
	}
	if len(e.endpoints) == 0 {
		e.endpoints = []string{""}
	}
	for _, endpoint := range e.endpoints {
		all[endpoint] = state.ExposedTo{Spaces: e.spaces, CIDRs: e.cidrs}
	}
	return m.ExposeEndpoints(a.Context(), name, all)
}
