package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// World is what a charm is tried in: what is on the other side of its endpoints, which values
// its options and actions can have.
type World struct {
	Subject
	Endpoints []Endpoint
	// Actions are calls that have succeeded, as "restock kind=a"; More are others of the same
	// actions.
	Actions, More []string
	// Trusted are the options of type secret with whose secrets the charm goes on.
	Trusted []string
	// Life is a whole life of one unit, step by step, and Hooks what it has brought.
	Life  [][]string
	Hooks []Seen
	// Odd are partners that couldn't be asked, and why.
	Odd []string
}

// Endpoint is one of the charm's, with the stub that plays its other side.
type Endpoint struct {
	Name, Interface string
	// Role is the stub's: the other one.
	Role string
	// Other is what the stub is called.
	Other string
	// Keys are what the stub publishes, in its units' and its application's databag.
	Keys []Key
}

// Key is a key of a databag, and what its value is.
type Key struct {
	Name string
	Kind Kind
	// Where says in which databags it is, From who says so.
	Where Where
	From  Source
	// Value is the value of one that is Given, with marks for addresses; of a Secret it is the
	// text around its URI, and empty if there is none.
	Value string
	// Fields are more keys of the content of a Secret.
	Fields []string
	// Text says that a schema has a text here, JSON that it is published as JSON has texts.
	Text, JSON bool
}

// secretKey is what keys in a secret look like. Source: docs/spec/hook-tools.md, secret-add.
var secretKey = pattern.New(`^[a-z](?:-?[a-z0-9]){2,}$`)

// Kind is a kind of value.
type Kind string

// The kinds of value, in the order in which they are tried.
const (
	Word    Kind = "word"
	Number  Kind = "number"
	Address Kind = "address"
	URL     Kind = "url"
	Bool    Kind = "bool"
	Secret  Kind = "secret"
	Object  Kind = "object"
	List    Kind = "list"
	// Given is a value that a schema, a partner or a recording gives.
	Given Kind = "given"
)

// Kinds are those that are tried for a key whose value a charm can't use.
func Kinds() []Kind { return []Kind{Number, Secret, Object, List, Bool, URL, Address, Word} }

// Seen is a hook that a step has brought, and the tools that it called, in their order: each call in the words that
// kill-agent takes behind "after", such as "relation-set" and then "2 relation-set".
type Seen struct {
	Step  int
	Hook  string
	Tools []string
}

// endpoints are the stubs with the keys that they are to publish at first.
func (s Subject) endpoints() []Endpoint {
	all := s.stubs()
	for i, e := range all {
		all[i].Keys = s.keysOf(e, nil)
	}
	return all
}

// stubs are the endpoints that a stub plays the other side of: not those of peers, nor those that units share a
// machine by, nor those of interfaces that are Juju's own, which no charm may provide.
func (s Subject) stubs() (all []Endpoint) {
	for _, name := range slices.Sorted(maps.Keys(s.Charm.Endpoints)) {
		e := s.Charm.Endpoints[name]
		if e.Role == model.Peer || e.Scope == model.Container || model.Reserved(e.Interface) {
			continue
		}
		all = append(all, Endpoint{Name: name, Interface: e.Interface, Role: otherRole(e.Role), Other: s.free(stubName(name), all)})
	}
	return all
}

// otherRole is that of the stub on the other side, as scripts have it.
func otherRole(r model.Role) string {
	if r == model.Requirer {
		return "provider"
	}
	return "requirer"
}

// free is a name that neither the application nor one of these stubs has.
func (s Subject) free(name string, others []Endpoint) string {
	for name == s.Application() || slices.ContainsFunc(others, func(e Endpoint) bool { return e.Other == name }) {
		name += "-too"
	}
	return name
}

// peers says whether units of the application know each other.
func (s Subject) peers() bool {
	for _, e := range s.Charm.Endpoints {
		if e.Role == model.Peer {
			return true
		}
	}
	return false
}

// guess is what a key's value is, by its name.
func guess(key string) Kind {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(key), w) })
	}
	switch {
	case has("url", "uri", "endpoint"):
		return URL
	case has("port", "count", "number", "size", "timeout", "interval", "depth"):
		return Number
	case has("host", "address", "ip"):
		return Address
	case has("enabled", "ready", "tls", "ssl"):
		return Bool
	}
	return Word
}

// Stub is the application that plays the other side.
func (e Endpoint) Stub() string { return cmp.Or(e.Other, stubName(e.Name)) }

// stubName is a name for the stub of an endpoint.
func stubName(endpoint string) string {
	name := strings.Map(func(r rune) rune { // an application's name has no digits alone, nor anything else
		switch {
		case r >= 'a' && r <= 'z':
			return r
		case r >= '0' && r <= '9':
			return 'a' + r - '0'
		}
		return '-'
	}, strings.ToLower(endpoint))
	return "other-" + strings.Trim(name, "-")
}

// value is what the stub's unit n publishes; n < 0: its application.
func (e Endpoint) value(k Key, n int) string {
	switch k.Kind {
	case Number:
		return strconv.Itoa(8081 + n)
	case Address:
		return e.address(n)
	case URL:
		return "http://" + e.address(n) + ":8080"
	case Given:
		return strings.ReplaceAll(k.Value, addressMark, e.address(n))
	case Bool:
		return "true"
	case Secret:
		return "$" + e.variable(k)
	case Object:
		return "{}"
	case List:
		return "[]"
	}
	if n < 0 {
		return fmt.Sprintf("%s-of-%s", k.Name, e.Stub())
	}
	return fmt.Sprintf("%s-of-%s-%d", k.Name, e.Stub(), n)
}

// address is that of the stub's unit n; n < 0: its application's.
func (e Endpoint) address(n int) string { return fmt.Sprintf("10.77.%d.%d", 1+len(e.Name), 2+n) }

func (e Endpoint) variable(k Key) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(e.Name+"_"+k.Name))
}

// secretName is the secret of the model that a key names.
func (e Endpoint) secretName(k Key) string {
	return strings.ToLower(strings.ReplaceAll(e.variable(k), "_", "-"))
}

// edition is a text that the whole content of that secret has, and marker one that its confidential content
// has: a user's name in it may well be shown.
func (e Endpoint) edition(k Key, edition string) string { return edition + "-of-" + e.secretName(k) }

func (e Endpoint) marker(k Key, edition string) string { return "content-" + e.edition(k, edition) }

// relate makes the stub and relates it; nothing is published.
func (w World) relate(e Endpoint) []string {
	return []string{
		fmt.Sprintf("stub %s %s:%s:%s", e.Stub(), e.Name, e.Interface, e.Role),
		fmt.Sprintf("integrate %s:%s %s", w.Application(), e.Name, e.Stub()),
	}
}

// secretsOf makes the secrets that the stub's keys name.
func (w World) secretsOf(e Endpoint) (lines []string) {
	made := map[string]bool{}
	for _, k := range e.Keys {
		if k.Kind == Secret && !made[e.variable(k)] {
			made[e.variable(k)] = true
			lines = append(lines, w.secret("add-secret", e, k, "first"),
				"capture "+e.variable(k), fmt.Sprintf("grant-secret %s %s", e.secretName(k), w.Application()))
		}
	}
	return lines
}

// secret gives a secret content: under each key that a charm may look for.
func (w World) secret(verb string, e Endpoint, k Key, edition string) string {
	line := fmt.Sprintf("%s %s", verb, e.secretName(k))
	for _, name := range w.content(e, k) {
		what := "open-"
		if confidential(name) || name == k.Name {
			what = "content-"
		}
		line += fmt.Sprintf(" %s=%s%s", name, what, e.edition(k, edition))
	}
	return line
}

// publish has the stub publish keys: those of its unit n, and those of its application.
func (e Endpoint) publish(keys []Key, n int) []string {
	if len(keys) == 0 {
		return nil
	}
	unit, app := "", ""
	for _, k := range keys {
		if k.Where != AppBag {
			unit += " " + e.word(k, n)
		}
		if k.Where != UnitBag {
			app += " " + e.word(k, -1)
		}
	}
	var lines []string
	if unit != "" {
		lines = append(lines, fmt.Sprintf("stub-set %s/%d%s", e.Stub(), n, unit))
	}
	if app != "" {
		lines = append(lines, fmt.Sprintf("stub-set --app %s%s", e.Stub(), app))
	}
	return lines
}

// quoted is a word of a script, as it is or in quotes.
func quoted(text string) string {
	if text != "" && !strings.ContainsAny(text, " '#$\t") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// whole relates the endpoint with all that the stub publishes.
func (w World) whole(e Endpoint) []string {
	return slices.Concat(w.secretsOf(e), w.relate(e), []string{"settle"}, e.publish(e.Keys, 0), []string{"settle"})
}

// deploy deploys n units with more flags.
func (w World) deploy(n int, flags ...string) []string {
	return append(w.placed("$SCRIPT_DIR/..", n, flags...), "settle")
}

// begun is deploy for n units that haven't run a hook yet.
func (w World) begun(n int) []string { return w.placed("$SCRIPT_DIR/..", n) }

// formerVersion stands for the directory of the former version in scenarios.
const formerVersion = "$FORMER"

// formerDeploy deploys the former version.
func (w World) formerDeploy() []string {
	if w.Former == "" {
		return w.deploy(1)
	}
	return append(w.placed(formerVersion, 1), "settle")
}

// optional are the storages that a unit can be without.
func (w World) optional() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Storage)) {
		if s := w.Charm.Storage[name]; s.CountMin == 0 && !s.Shared {
			names = append(names, name)
		}
	}
	return names
}

// storageID is the id of the nth storage that is added to the application's only unit: the
// numbers of a model's storage go on from those that the unit can't be without.
func (w World) storageID(name string, n int) string {
	for _, s := range w.Charm.Storage {
		n += s.CountMin
	}
	return fmt.Sprintf("%s/%d", name, n)
}

// acts has the first unit run those of the actions that are known to succeed.
func (w World) acts(unit string) (lines []string) {
	for _, a := range w.Actions {
		lines = append(lines, "run "+unit+" "+a)
	}
	return lines
}
