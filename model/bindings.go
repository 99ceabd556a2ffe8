package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// AlphaSpace is the space that each model has, which holds the one network.
const AlphaSpace = "alpha"

// Bindings are the spaces that the endpoints of an application are bound to: the
// default one under "", and under their names those of endpoints that are bound to
// another one. The zero value binds all to AlphaSpace. Source:
// docs/spec/juju-clients.md §8.
type Bindings map[string]string

// bindForm is how the error of bad bindings begins.
const bindForm = "--bind must be in the form '[<default-space>] [<endpoint-name>=<space> ...]'; "

// spaceName is what names of spaces look like.
var spaceName = pattern.New(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// ValidSpace says whether a space can have that name.
func ValidSpace(name string) bool { return spaceName.MatchString(name) }

// ParseBindings reads words, of which each is ENDPOINT=SPACE, or the default space; a
// word may have several of them, with blanks between. What isn't said isn't in the
// result. The error is NotValid.
func ParseBindings(words ...string) (Bindings, error) {
	b := Bindings{}
	for _, word := range strings.Fields(strings.Join(words, " ")) {
		endpoint, space, named := strings.Cut(word, "=")
		if !named {
			endpoint, space = "", word
		}
		why := ""
		_, twice := b[endpoint]
		switch {
		case named && endpoint == "":
			why = `found "=" without endpoint name. A space without "=" is the default`
		case strings.Contains(space, "="):
			why = `found multiple "=" in binding. Each is for one endpoint`
		case !ValidSpace(space):
			why = fmt.Sprintf("%q is no name of a space", space)
		case twice && endpoint == "":
			why = "there is more than one default space"
		case twice:
			why = fmt.Sprintf("endpoint %q is bound twice", endpoint)
		}
		if why != "" {
			return nil, errors.NewNotValid(nil, bindForm+why)
		}
		b[endpoint] = space
	}
	return b, nil
}

// Default is the space of endpoints of which nothing else is said.
func (b Bindings) Default() string {
	if space := b[""]; space != "" {
		return space
	}
	return AlphaSpace
}

// Of is the space that an endpoint is bound to.
func (b Bindings) Of(endpoint string) string {
	if space, ok := b[endpoint]; ok && space != "" {
		return space
	}
	return b.Default()
}

// All are the spaces of these endpoints by their names, and the default one under "".
func (b Bindings) All(endpoints []string) map[string]string {
	all := map[string]string{"": b.Default()}
	for _, e := range endpoints {
		all[e] = b.Of(e)
	}
	return all
}

// Elsewhere are the spaces but AlphaSpace that something is bound to, in order.
func (b Bindings) Elsewhere() []string {
	var all []string
	for _, space := range b {
		if space != AlphaSpace && space != "" && !slices.Contains(all, space) {
			all = append(all, space)
		}
	}
	slices.Sort(all)
	return all
}

// With are the bindings with others over them, for an application with these endpoints:
// a new default moves the endpoints that were bound to the former one. The error is
// NotFound for an endpoint that there isn't.
func (b Bindings) With(others Bindings, endpoints []string) (Bindings, error) {
	for _, endpoint := range slices.Sorted(maps.Keys(others)) {
		if endpoint != "" && !slices.Contains(endpoints, endpoint) {
			return nil, errors.NewNotFound(nil, fmt.Sprintf("endpoint %q not found", endpoint))
		}
	}
	next := Bindings{}
	if space := others[""]; space != "" {
		next[""] = space
	} else if b.Default() != AlphaSpace {
		next[""] = b.Default()
	}
	for _, e := range endpoints {
		space := next.Default()
		if b.Of(e) != b.Default() {
			space = b.Of(e)
		}
		if to, ok := others[e]; ok {
			space = to
		}
		if space != next.Default() {
			next[e] = space
		}
	}
	if next[""] == AlphaSpace {
		delete(next, "")
	}
	return next, nil
}

// Log says line by line what becomes of endpoints, some of which a new charm may have
// added, when these bindings follow others.
func (b Bindings) Log(former Bindings, had, has []string) []string {
	var lines []string
	same := map[string][]string{}
	for _, e := range has {
		from, to := former.Of(e), b.Of(e)
		switch {
		case !slices.Contains(had, e) && to == b.Default():
			lines = append(lines, fmt.Sprintf("adding endpoint %q to default space %q", e, to))
		case !slices.Contains(had, e):
			lines = append(lines, fmt.Sprintf("adding endpoint %q to space %q", e, to))
		case from != to:
			lines = append(lines, fmt.Sprintf("moving endpoint %q from space %q to %q", e, from, to))
		default:
			same[to] = append(same[to], e)
		}
	}
	for _, space := range slices.Sorted(maps.Keys(same)) {
		lines = append(lines, fmt.Sprintf("no change to endpoints in space %q: %s", space, strings.Join(same[space], ", ")))
	}
	return lines
}

// Bindable are the names of what can be bound to spaces: endpoints, and the extra
// bindings of the charm.
func (c Charm) Bindable() []string {
	names := slices.Clone(c.Bindings)
	for _, e := range c.EndpointsOf("") {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
