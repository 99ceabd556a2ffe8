package charmdir

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

var (
	validEndpoint = pattern.New(`^[a-zA-Z][a-zA-Z0-9_-]*$`)
	validAction   = pattern.New(`^[a-z](?:[a-z0-9-_]*[a-z0-9])?$`)
	validSize     = pattern.New(`^[0-9]+(\.[0-9]+)?([MGTPEZY](i?B)?)?$`)
)

// readMetadata reads what metadata.yaml has, or the same keys of a
// charmcraft.yaml.
func readMetadata(n node, c *model.Charm) (err error) {
	if c.Name, err = n.get("name").text(); err != nil {
		return err
	}
	if c.Name == "" {
		return n.get("name").errorf("missing")
	}
	if !model.ValidApplication(c.Name) {
		return n.get("name").errorf("invalid charm name %q", c.Name)
	}
	if c.Summary, err = n.get("summary").text(); err != nil {
		return err
	}
	if c.Description, err = n.get("description").text(); err != nil {
		return err
	}
	if c.Subordinate, err = n.get("subordinate").boolean(); err != nil {
		return err
	}
	if err := readEndpoints(n, c); err != nil {
		return err
	}
	if err := readStorage(n.get("storage"), c); err != nil {
		return err
	}
	if err := readResources(n.get("resources"), c); err != nil {
		return err
	}
	if err := readContainers(n.get("containers"), c); err != nil {
		return err
	}
	if err := readCharmUser(n.get("charm-user"), c); err != nil {
		return err
	}
	if c.Assumes, err = readAssumes(n.get("assumes"), 0); err != nil {
		return err
	}
	bindings, err := n.get("extra-bindings").entries()
	for _, e := range bindings {
		c.Bindings = append(c.Bindings, e.key)
	}
	return err
}

func readEndpoints(n node, c *model.Charm) error {
	c.Endpoints = map[string]model.CharmRel{}
	for _, section := range []struct {
		key  string
		role model.Role
	}{{"provides", model.Provider}, {"requires", model.Requirer}, {"peers", model.Peer}} {
		entries, err := n.get(section.key).entries()
		if err != nil {
			return err
		}
		for _, e := range entries {
			rel, err := readEndpoint(e, section.role)
			if err != nil {
				return err
			}
			if _, twice := c.Endpoints[e.key]; twice {
				return e.errorf("duplicate endpoint name %q", e.key)
			}
			c.Endpoints[e.key] = rel
		}
	}
	if !c.Subordinate {
		return nil
	}
	for _, rel := range c.Endpoints {
		if rel.Role == model.Requirer && rel.Scope == model.Container {
			return nil
		}
	}
	return n.get("subordinate").errorf("a subordinate charm requires a relation with container scope, and this one has none")
}

func readEndpoint(e entry, role model.Role) (rel model.CharmRel, err error) {
	rel = model.CharmRel{Role: role, Scope: model.Global}
	if !validEndpoint.MatchString(e.key) {
		return rel, e.errorf("invalid endpoint name %q", e.key)
	}
	if model.Reserved(e.key) && role != model.Requirer {
		return rel, e.errorf("reserved relation name %q: \"juju\" and names that begin with \"juju-\" are Juju's own", e.key)
	}
	if e.value().Tag == "!!str" {
		rel.Interface = e.value().Value // the short form, "db: mysql"
	} else {
		if err := readLongEndpoint(e, &rel); err != nil {
			return rel, err
		}
	}
	switch {
	case rel.Interface == "":
		return rel, e.errorf("no interface")
	case model.Reserved(rel.Interface) && role != model.Requirer:
		return rel, e.errorf("reserved interface %q", rel.Interface)
	}
	return rel, nil
}

func readLongEndpoint(e entry, rel *model.CharmRel) (err error) {
	if err := e.mapping(); err != nil {
		return err
	}
	if rel.Interface, err = e.get("interface").text(); err != nil {
		return err
	}
	if rel.Limit, err = e.get("limit").integer(0); err != nil {
		return err
	}
	if rel.Limit < 0 {
		return e.get("limit").errorf("expected a number from 0 up, got %d", rel.Limit)
	}
	if rel.Optional, err = e.get("optional").boolean(); err != nil {
		return err
	}
	scope, err := e.get("scope").text()
	if err != nil {
		return err
	}
	switch scope {
	case "", string(model.Global):
	case string(model.Container):
		rel.Scope = model.Container
	default:
		return e.get("scope").errorf("unknown scope %q, expected global or container", scope)
	}
	return nil
}

// readConfig reads the options of config.yaml, or of "config" in a
// charmcraft.yaml.
func readConfig(n node, c *model.Charm) error {
	c.Options = map[string]model.ConfigOption{}
	if err := n.mapping(); err != nil {
		return err
	}
	entries, err := n.get("options").entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		o, err := readOption(e)
		if err != nil {
			return err
		}
		c.Options[e.key] = o
	}
	return nil
}

func readOption(e entry) (o model.ConfigOption, err error) {
	if err := e.mapping(); err != nil {
		return o, err
	}
	if o.Type, err = e.get("type").text(); err != nil {
		return o, err
	}
	if o.Type == "" {
		o.Type = "string"
	}
	if !slices.Contains(model.ConfigTypes(), o.Type) {
		return o, e.get("type").errorf("unknown type %q, expected one of %s", o.Type, strings.Join(model.ConfigTypes(), ", "))
	}
	if o.Description, err = e.get("description").text(); err != nil {
		return o, err
	}
	def := e.get("default")
	v, err := def.any()
	if err != nil || v == nil {
		return o, err
	}
	// "yes" and "off" without quotes are booleans in the YAML that charms are
	// written in, and text in today's.
	if o.Type == "boolean" && def.value().Style == 0 {
		if b, err := def.boolean(); err == nil {
			v = b
		}
	}
	if o.Default, err = o.Coerce(e.key, v); err != nil {
		return o, def.errorf("expected %s, got %s", o.Type, describe(def.value()))
	}
	return o, nil
}

// readActions reads actions.yaml, or "actions" in a charmcraft.yaml, and makes
// a JSON schema of each action's parameters.
func readActions(n node, c *model.Charm) error {
	c.Actions = map[string]model.ActionSpec{}
	entries, err := n.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !validAction.MatchString(e.key) || model.Reserved(e.key) {
			return e.errorf("invalid action name %q", e.key)
		}
		if err := e.mapping(); err != nil {
			return err
		}
		a := model.ActionSpec{}
		if a.Description, err = e.get("description").text(); err != nil {
			return err
		}
		if a.Params, err = readParams(e); err != nil {
			return err
		}
		c.Actions[e.key] = a
	}
	return nil
}

func readParams(e entry) (map[string]any, error) {
	params, err := e.get("params").entries()
	if err != nil {
		return nil, err
	}
	properties := map[string]any{}
	for _, p := range params {
		if p.value().Kind != yaml.MappingNode {
			return nil, p.errorf("expected a map, the parameter's schema, got %s", describe(p.value()))
		}
		if properties[p.key], err = p.any(); err != nil {
			return nil, err
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	required, err := e.get("required").texts()
	if err != nil {
		return nil, err
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	additional := e.get("additionalProperties")
	switch v, err := additional.any(); v.(type) {
	case bool, map[string]any:
		schema["additionalProperties"] = v
	case nil:
		if err != nil {
			return nil, err
		}
	default:
		return nil, additional.errorf("expected true, false or a map, got %s", describe(additional.value()))
	}
	return schema, nil
}

func readStorage(n node, c *model.Charm) error {
	entries, err := n.entries()
	if err != nil {
		return err
	}
	c.Storage = map[string]model.StorageSpec{}
	for _, e := range entries {
		s, err := readStore(e)
		if err != nil {
			return err
		}
		c.Storage[e.key] = s
	}
	return nil
}

func readStore(e entry) (s model.StorageSpec, err error) {
	s = model.StorageSpec{CountMin: 1, CountMax: 1}
	if !model.ValidApplication(e.key) {
		return s, e.errorf("invalid storage name %q", e.key)
	}
	for _, n := range []node{e.node, e.get("multiple")} {
		if err := n.mapping(); err != nil {
			return s, err
		}
	}
	for _, f := range []struct {
		key string
		to  *string
	}{{"type", &s.Type}, {"description", &s.Description}, {"location", &s.Location}} {
		if *f.to, err = e.get(f.key).text(); err != nil {
			return s, err
		}
	}
	if s.Type != "filesystem" && s.Type != "block" {
		return s, e.get("type").errorf("unknown storage type %q, expected filesystem or block", s.Type)
	}
	for _, f := range []struct {
		key string
		to  *bool
	}{{"read-only", &s.ReadOnly}, {"shared", &s.Shared}} {
		if *f.to, err = e.get(f.key).boolean(); err != nil {
			return s, err
		}
	}
	if size := e.get("minimum-size"); !size.null() {
		if s.MinimumSize = size.value().Value; !validSize.MatchString(s.MinimumSize) {
			return s, size.errorf("expected a size such as 512M or 1.5G, got %s", describe(size.value()))
		}
	}
	return s, readRange(e.get("multiple").get("range"), &s)
}

// readRange reads "2", "1-3", "0-" or "2+".
func readRange(n node, s *model.StorageSpec) error {
	text := n.value().Value
	if n.null() {
		return nil
	}
	if n.value().Kind != yaml.ScalarNode {
		return n.errorf("expected a count or a range of counts, got %s", describe(n.value()))
	}
	low, high, isRange := strings.Cut(strings.Replace(text, "+", "-", 1), "-")
	min, err := strconv.Atoi(low)
	if err != nil || min < 0 {
		return n.errorf("invalid count range %q", text)
	}
	s.CountMin, s.CountMax = min, min
	switch {
	case isRange && high == "":
		s.CountMax = -1
	case isRange:
		if s.CountMax, err = strconv.Atoi(high); err != nil || s.CountMax < min {
			return n.errorf("invalid count range %q", text)
		}
	}
	if s.CountMax == 0 {
		return n.errorf("invalid count range %q: no storage at all", text)
	}
	return nil
}

// metadataKeys are the keys of a charmcraft.yaml that belong in metadata.yaml.
func metadataKeys() []string {
	return []string{
		"name", "summary", "description", "subordinate", "provides",
		"requires", "peers", "storage", "resources", "extra-bindings",
		"containers", "assumes", "devices", "payloads", "terms",
		"title", "tags", "series", "min-juju-version", "display-name",
		"maintainers", "docs", "issues", "source", "website", "links", "charm-user",
	}
}
