package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/unitd/unitd/pattern"
)

// Charm is what unitd needs to know of a charm: its metadata, configuration
// options and actions. charmdir reads it from files; state stores it.
type Charm struct {
	Name        string                  `json:"name"`
	Summary     string                  `json:"summary,omitempty"`
	Description string                  `json:"description,omitempty"`
	Subordinate bool                    `json:"subordinate,omitempty"`
	Version     string                  `json:"version,omitempty"` // content of the file "version"
	Endpoints   map[string]CharmRel     `json:"endpoints,omitempty"`
	Options     map[string]ConfigOption `json:"options,omitempty"`
	Actions     map[string]ActionSpec   `json:"actions,omitempty"`
	Storage     map[string]StorageSpec  `json:"storage,omitempty"`
	Resources   map[string]ResourceSpec `json:"resources,omitempty"`
	Bindings    []string                `json:"bindings,omitempty"` // extra-bindings
	Bases       []Base                  `json:"bases,omitempty"`    // none: it doesn't say
	// Containers are those for workloads, by name; CharmUser is whom the charm
	// wants to be run as, one of the constants, empty if it doesn't say; Assumes
	// is what it wants of where it is deployed, all of it.
	Containers map[string]ContainerSpec `json:"containers,omitempty"`
	CharmUser  string                   `json:"charm-user,omitempty"`
	Assumes    []Assumption             `json:"assumes,omitempty"`
}

// CharmRel is a relation endpoint as metadata.yaml declares it.
type CharmRel struct {
	Role      Role   `json:"role"`
	Interface string `json:"interface"`
	Scope     Scope  `json:"scope"`
	Limit     int    `json:"limit,omitempty"`
	Optional  bool   `json:"optional,omitempty"`
}

// ActionSpec is an action as actions.yaml declares it. Params is a JSON
// schema for the parameters, as decoded.
type ActionSpec struct {
	Description string         `json:"description,omitempty"`
	Params      map[string]any `json:"params,omitempty"`
}

// passwordWords are what begins the description of a password: "The new password
// of the user", and not "The user whose password …".
var passwordWords = pattern.New(`(?i)^(?:(?:the|a|an|new|old|current|initial|optional)\s+)*(?:\w+\s+)?(?:password|passphrase|secret|token|private key|api key)\b`)

// Passwords are the names of the parameters that the action's schema calls
// passwords: by their format, as written and never read, or by what their
// description or title begins with; at any depth, in alphabetical order.
func (a ActionSpec) Passwords() []string {
	found := map[string]bool{}
	passwordsIn(a.Params, found)
	return slices.Sorted(maps.Keys(found))
}

func passwordsIn(schema map[string]any, found map[string]bool) {
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		p, ok := p.(map[string]any)
		if !ok {
			continue
		}
		description, _ := p["description"].(string)
		title, _ := p["title"].(string)
		if p["format"] == "password" || p["writeOnly"] == true || passwordWords.MatchString(description) || passwordWords.MatchString(title) {
			found[name] = true
		}
		passwordsIn(p, found)
	}
}

// StorageSpec is a storage requirement. CountMax -1 is "no limit".
type StorageSpec struct {
	Type        string `json:"type"` // "filesystem" or "block"
	Description string `json:"description,omitempty"`
	Location    string `json:"location,omitempty"`
	CountMin    int    `json:"count-min"`
	CountMax    int    `json:"count-max"`
	MinimumSize string `json:"minimum-size,omitempty"`
	ReadOnly    bool   `json:"read-only,omitempty"`
	Shared      bool   `json:"shared,omitempty"`
}

// ResourceSpec is a resource that the charm expects to be given.
type ResourceSpec struct {
	Type        string `json:"type"` // "file" or "oci-image"
	Filename    string `json:"filename,omitempty"`
	Description string `json:"description,omitempty"`
	// Upstream is the image that is taken where none is given, for OCIImage. It is
	// no key of Juju's. Source: docs/spec/containers.md §1.3.
	Upstream string `json:"upstream-source,omitempty"`
}

// EndpointsOf are the endpoints of an application that runs the charm, sorted
// by name, the implicit juju-info included unless the charm declares one.
func (c Charm) EndpointsOf(application string) []Endpoint {
	var eps []Endpoint
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		r := c.Endpoints[name]
		eps = append(eps, Endpoint{
			Application: application, Name: name, Role: r.Role,
			Interface: r.Interface, Scope: r.Scope, Limit: r.Limit, Optional: r.Optional,
		})
	}
	if _, ok := c.Endpoints[JujuInfo]; !ok {
		eps = append(eps, Endpoint{
			Application: application, Name: JujuInfo, Role: Provider, Interface: JujuInfo, Scope: Global,
		})
		slices.SortFunc(eps, func(a, b Endpoint) int { return strings.Compare(a.Name, b.Name) })
	}
	return eps
}
