package charmdir

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// validContainer is a label of RFC 1123: a container's name becomes that of a
// directory, of a cell and of hooks. Source: docs/spec/containers.md §1.1.
var validContainer = pattern.New(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)

// reservedContainers are what a unit's own two containers are called.
func reservedContainers() []string { return []string{"charm", "charm-init"} }

// readContainers reads the key containers; c has its storage and resources. The
// texts are those of docs/spec/containers.md §1.2.
func readContainers(n node, c *model.Charm) error {
	entries, err := n.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		got, err := readContainer(e, c)
		if err != nil {
			return err
		}
		if c.Containers == nil {
			c.Containers = map[string]model.ContainerSpec{}
		}
		c.Containers[e.key] = got
	}
	return nil
}

// wrongContainer is the error of a key of containers.
func (n node) wrongContainer(format string, args ...any) error {
	return n.errorf("parsing containers: %s", fmt.Sprintf(format, args...))
}

func readContainer(e entry, c *model.Charm) (got model.ContainerSpec, err error) {
	switch {
	case !validContainer.MatchString(e.key):
		return got, e.wrongContainer("invalid container name %q: expected up to 63 of a-z, 0-9 and -, with no - first or last", e.key)
	case slices.Contains(reservedContainers(), e.key):
		return got, e.wrongContainer("container name %q is reserved: a unit's own containers are called so", e.key)
	}
	if err := e.mapping(); err != nil {
		return got, err
	}
	if got.Resource, err = e.get("resource").text(); err != nil {
		return got, err
	}
	if r := e.get("resource"); got.Resource != "" {
		spec, ok := c.Resources[got.Resource]
		switch {
		case !ok:
			return got, r.wrongContainer("referenced resource %q not found", got.Resource)
		case spec.Type != model.OCIImage:
			return got, r.wrongContainer("referenced resource %q is not a %s", got.Resource, model.OCIImage)
		}
	}
	if got.Mounts, err = readMounts(e, c); err != nil {
		return got, err
	}
	if got.UID, err = readID(e, "uid"); err != nil {
		return got, err
	}
	got.GID, err = readID(e, "gid")
	return got, err
}

func readMounts(e entry, c *model.Charm) (mounts []model.Mount, err error) {
	list := e.get("mounts")
	if list.null() {
		return nil, nil
	}
	if list.value().Kind != yaml.SequenceNode {
		return nil, list.errorf("expected a list, got %s", describe(list.value()))
	}
	for _, v := range list.value().Content {
		item := node{file: list.file, parent: list.parent, key: list.key, n: v}
		if err := item.mapping(); err != nil {
			return nil, err
		}
		var m model.Mount
		if m.Storage, err = item.get("storage").text(); err != nil {
			return nil, err
		}
		if m.Location, err = item.get("location").text(); err != nil {
			return nil, err
		}
		_, known := c.Storage[m.Storage]
		switch {
		case m.Storage == "":
			return nil, item.wrongContainer("container %q: storage must be specifed on mount", e.key)
		case m.Location == "":
			return nil, item.wrongContainer("container %q: location must be specifed on mount", e.key)
		case !known:
			return nil, item.wrongContainer("container %q: storage %q not valid", e.key, m.Storage)
		case m.Location[0] != '/':
			return nil, item.wrongContainer("container %q: expected an absolute path as location, got %q", e.key, m.Location)
		}
		if own := takenBy(m.Location); own != "" {
			return nil, item.wrongContainer("container %q: storage %q cannot have the location %q: %s is the container's own", e.key, m.Storage, m.Location, own)
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// readID reads uid or gid, which aren't 0 where they aren't there.
func readID(e entry, key string) (*int, error) {
	n := e.get(key)
	if n.null() {
		return nil, nil
	}
	id, err := n.integer(0)
	switch {
	case err != nil:
		return nil, err
	case id >= 1000 && id <= 9999:
		return nil, n.wrongContainer("container %q has invalid %s %d: %[2]s cannot be in reserved range 1000-9999", e.key, key, id)
	case id < 0 || id > 1<<32-2: // the last one is nobody's, -1 for the kernel
		return nil, n.wrongContainer("container %q has invalid %s %d", e.key, key, id)
	}
	return &id, nil
}

func readCharmUser(n node, c *model.Charm) (err error) {
	if c.CharmUser, err = n.text(); err != nil || n.null() {
		return err
	}
	switch c.CharmUser {
	case model.CharmUserRoot, model.CharmUserSudoer, model.CharmUserNonRoot:
		return nil
	}
	return n.errorf("parsing charm-user: invalid charm-user %q expected one of root, sudoer or non-root", c.CharmUser)
}

// maxAssumes bounds how deep assumptions may be in each other.
const maxAssumes = 10

// readAssumes reads a list of features, and of maps any-of and all-of with lists
// in them.
func readAssumes(n node, deep int) (all []model.Assumption, err error) {
	if n.null() {
		return nil, nil
	}
	if n.value().Kind != yaml.SequenceNode {
		return nil, n.errorf("expected a list, got %s", describe(n.value()))
	}
	if deep > maxAssumes {
		return nil, n.errorf("lists are in each other more than %d deep", maxAssumes)
	}
	for _, v := range n.value().Content {
		item := node{file: n.file, parent: n.parent, key: n.key, n: v}
		a, err := readAssumption(item, deep)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

func readAssumption(item node, deep int) (a model.Assumption, err error) {
	if item.value().Kind != yaml.MappingNode {
		text, err := item.text()
		if err != nil {
			return a, err
		}
		if a, err = model.ParseAssumption(text); err != nil {
			return a, item.errorf("%v", err)
		}
		return a, nil
	}
	anyOf, allOf := item.get("any-of"), item.get("all-of")
	if len(item.value().Content) != 2 || anyOf.null() && allOf.null() {
		return a, item.errorf("expected a feature, or a map with any-of or all-of alone")
	}
	if a.AnyOf, err = readAssumes(anyOf, deep+1); err != nil {
		return a, err
	}
	a.AllOf, err = readAssumes(allOf, deep+1)
	return a, err
}

// checkV1 refuses what metadata of the first version hasn't: metadata that names
// series, where no manifest.yaml names bases. Source: docs/spec/containers.md §1.2.
func checkV1(meta node, manifest bool, c *model.Charm) error {
	series := meta.get("series")
	if series.value().Kind != yaml.SequenceNode || len(series.value().Content) == 0 || manifest && len(c.Bases) > 0 {
		return nil
	}
	switch {
	case len(c.Containers) > 0 && !manifest:
		return meta.get("containers").errorf("containers without a manifest.yaml not valid")
	case len(c.Containers) > 0:
		return meta.get("containers").errorf("containers in metadata v1 not valid")
	case len(c.Assumes) > 0:
		return meta.get("assumes").errorf("assumes in metadata v1 not valid")
	}
	return nil
}
