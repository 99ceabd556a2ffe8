package charmdir

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// Base is what a charm runs on, as manifest.yaml has it.
type Base struct {
	Name          string   `yaml:"name"`    // as "ubuntu"
	Channel       string   `yaml:"channel"` // as "24.04"
	Architectures []string `yaml:"architectures"`
}

var validBase = pattern.New(`^([a-z][a-z0-9-]*)@([0-9a-z][0-9a-z._/-]*)$`)

// ParseBase reads a base in the form of charmcraft and Juju, "ubuntu@24.04".
// Errors are NotValid.
func ParseBase(text string, architectures ...string) (Base, error) {
	m := validBase.FindStringSubmatch(text)
	if m == nil {
		return Base{}, errors.NewNotValid(nil, fmt.Sprintf("invalid base %q: expected it as ubuntu@24.04", text))
	}
	return Base{Name: m[1], Channel: m[2], Architectures: architectures}, nil
}

// AddManifest gives the charm the manifest.yaml that Juju's tools read, if its
// tree has none, so that it can be deployed by them: on the given bases, else
// on those that its charmcraft.yaml names, for arch where that says none. It
// has no time in it, so that the same tree makes the same archive. Errors are
// NotFound for a charm that says no base where none is given, and NotValid for
// bases that can't be, for one that is given where the tree says it, and for a
// tree that gives the charm two names.
func (c *Charm) AddManifest(arch string, bases ...Base) error {
	if !c.Dir || isFile(c.Path, "manifest.yaml") {
		if len(bases) > 0 {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot pack charm %s for another base: it has a manifest.yaml, which says what it runs on", c.Path))
		}
		return nil
	}
	craft, _, err := readYAML(os.DirFS(c.Path), "charmcraft.yaml")
	if err != nil {
		return err
	}
	// charmcraft makes no charm of such a tree either.
	if name, err := craft.get("name").text(); err == nil && name != "" && name != c.Name {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot pack charm %s: its name is %q in metadata.yaml and %q in charmcraft.yaml", c.Path, c.Name, name))
	}
	if len(bases) == 0 {
		if bases, err = readBases(craft, arch); err != nil {
			return errors.Annotatef(err, "cannot pack charm %s", c.Path)
		}
	}
	if len(bases) == 0 {
		return errors.NewNotFound(nil, fmt.Sprintf("cannot pack charm %s: nothing says which base it runs on: name one in charmcraft.yaml, or with --base ubuntu@24.04", c.Path))
	}
	data, err := yaml.Marshal(map[string]any{"analysis": map[string]any{"attributes": []any{}}, "bases": bases})
	if err != nil {
		return errors.Trace(err)
	}
	c.generated["manifest.yaml"] = data
	return nil
}

// basesOf are the bases of a charm, as its manifest.yaml or else its
// charmcraft.yaml has them, without risks. None where neither says any that can
// be: units run on what there is all the same.
func basesOf(files fs.FS, craft node) []model.Base {
	from, found, err := readYAML(files, "manifest.yaml")
	if err != nil || !found {
		from = craft
	}
	bases, err := readBases(from, "")
	if err != nil {
		return nil
	}
	var out []model.Base
	for _, b := range bases {
		track, _, _ := strings.Cut(b.Channel, "/")
		if base := (model.Base{Name: b.Name, Channel: track}); !slices.Contains(out, base) {
			out = append(out, base)
		}
	}
	return out
}

// readBases reads the bases in all the forms that charmcraft.yaml has had.
func readBases(craft node, arch string) ([]Base, error) {
	if !craft.get("bases").null() {
		return oldBases(craft.get("bases"), arch)
	}
	base, err := craft.get("base").text()
	if err != nil {
		return nil, err
	}
	platforms, err := craft.get("platforms").entries()
	if err != nil {
		return nil, err
	}
	archs := map[string][]string{} // by base
	var order []string
	for _, p := range platforms {
		// "amd64", "ubuntu@24.04:amd64", or any name with build-for.
		name, of, arch := p.key, base, p.key
		if at := strings.LastIndex(name, ":"); at >= 0 {
			of, arch = name[:at], name[at+1:]
		}
		list, err := buildFor(p)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			list = []string{arch}
		}
		for _, a := range list {
			if at := strings.LastIndex(a, ":"); at >= 0 {
				of, a = a[:at], a[at+1:]
			}
			if !slices.Contains(order, of) {
				order = append(order, of)
			}
			archs[of] = append(archs[of], a)
		}
	}
	if len(order) == 0 && base != "" {
		order, archs[base] = []string{base}, []string{arch}
	}
	var out []Base
	for _, of := range order {
		if of == "" {
			return nil, craft.get("platforms").errorf("a platform without a base: say base: ubuntu@24.04, or ubuntu@24.04:%s as its name", arch)
		}
		b, err := ParseBase(of, archs[of]...)
		if err != nil {
			return nil, craft.get("base").errorf("%v", err)
		}
		out = append(out, b)
	}
	return out, nil
}

// buildFor is what a platform is built for: a word or a list.
func buildFor(platform entry) ([]string, error) {
	n := platform.get("build-for")
	if n.value().Kind == yaml.ScalarNode && !n.null() {
		text, err := n.text()
		return []string{text}, err
	}
	return n.strings()
}

// oldBases reads the key bases: a list of bases, or of what runs on which ones.
func oldBases(n node, arch string) ([]Base, error) {
	if n.value().Kind != yaml.SequenceNode {
		return nil, n.errorf("expected a list, got %s", describe(n.value()))
	}
	var out []Base
	for _, v := range n.value().Content {
		item := node{file: n.file, parent: n.parent, key: n.key, n: v}
		if err := item.mapping(); err != nil {
			return nil, err
		}
		if on := item.get("run-on"); !on.null() {
			inner, err := oldBases(on, arch)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		if !item.get("build-on").null() {
			return nil, item.errorf("build-on without run-on")
		}
		b := Base{}
		var err error
		if b.Name, err = item.get("name").text(); err != nil {
			return nil, err
		}
		if b.Channel, err = item.get("channel").text(); err != nil {
			return nil, err
		}
		if b.Architectures, err = item.get("architectures").strings(); err != nil {
			return nil, err
		}
		if b.Name == "" || b.Channel == "" {
			return nil, item.errorf("a base without a name or a channel")
		}
		if len(b.Architectures) == 0 {
			b.Architectures = []string{arch}
		}
		out = append(out, b)
	}
	return out, nil
}
