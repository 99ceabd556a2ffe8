package check

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// bagSchema is a schema of a databag that was found in a charm's tree.
type bagSchema struct {
	path string
	// names are those by which its interface is called; generic: its place names none.
	names   []string
	generic bool
	version int
	// role is who publishes it; empty: either side may.
	role  string
	where Where
	// rank is how sure it is that this is what the databag has to be; the lowest counts.
	rank int
	// quoted: each text is published as JSON has it.
	quoted bool
	form   map[string]any
}

// The ranks of schemas: those that are written down for an interface, those that libraries check
// by, and models that are called like databags.
const (
	written = iota
	checked
	called
)

// ReadSchemas reads the schemas of databags in the trees of the charm: directories, or charm
// files. A file that can't be made sense of has none.
func (s *Subject) ReadSchemas(trees ...string) error {
	seen := map[string]bool{}
	for _, tree := range trees {
		files, end, err := openTree(tree)
		if err != nil {
			return errors.Annotate(err, "cannot read the charm's schemas")
		}
		err = s.readSchemas(files, seen)
		end()
		if err != nil {
			return errors.Annotate(err, "cannot read the charm's schemas")
		}
	}
	return nil
}

// openTree opens a charm, a directory or a charm file; end closes it.
func openTree(charm string) (files fs.FS, end func(), err error) {
	info, err := os.Stat(charm)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	if info.IsDir() {
		return os.DirFS(charm), func() {}, nil
	}
	archive, err := zip.OpenReader(charm)
	if err != nil {
		return nil, nil, errors.Annotate(err, charm)
	}
	return archive, func() { archive.Close() }, nil
}

func (s *Subject) readSchemas(files fs.FS, seen map[string]bool) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			base := path.Base(name)
			if name != "." && (base[0] == '.' || slices.Contains([]string{"tests", "test", "interface_tests", "node_modules", "__pycache__", "build"}, base)) {
				return fs.SkipDir
			}
			return nil
		}
		if seen[name] || !d.Type().IsRegular() || !mayHaveSchema(name) {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxSource {
			return err
		}
		seen[name] = true
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		s.schemas = append(s.schemas, schemasIn(name, text)...)
		return nil
	})
}

// mayHaveSchema says by a file's path whether there may be a schema in it. Of packages that a
// charm has with it, only those of interfaces are looked at.
func mayHaveSchema(name string) bool {
	words := strings.Split(name, "/")
	if slices.ContainsFunc(words, func(w string) bool { return w == "venv" || w == "site-packages" || w == "lib64" }) && !strings.Contains(name, "charmlibs/interfaces/") {
		return false
	}
	switch path.Ext(name) {
	case ".py":
		return true
	case ".json":
		stem, role := cutRole(strings.TrimSuffix(words[len(words)-1], ".json"))
		return role != "" || strings.HasSuffix(stem, "schema") || slices.ContainsFunc(words[:len(words)-1], func(w string) bool {
			return w == "schemas" || w == "schema" || w == "json_schemas" || w == "interfaces"
		})
	}
	return false
}

// schemasIn are the schemas of databags in a file.
func schemasIn(name string, text []byte) (all []bagSchema) {
	at := placed(name)
	if path.Ext(name) == ".json" {
		at.rank = written
		v, err := decoded(text)
		if err != nil {
			return nil
		}
		return at.bags(v, v)
	}
	m := readPython(string(text))
	for _, c := range m.constOrder {
		if v, _ := m.value(m.consts[c], 0); strings.Contains(strings.ToUpper(c), "INTERFACE") {
			if interfaceName, ok := v.(string); ok {
				at.names = append(at.names, norm(interfaceName))
				at.generic = false
			}
		}
	}
	for _, bag := range m.bags(string(text)) {
		one := at
		one.quoted, one.rank = bag.quoted, checked
		_, role := cutRole(bag.name)
		if role != "" {
			one.role = role
		}
		if m.classes[bag.name] != nil {
			one.rank = called
			if bag.whole {
				one.rank = written
			} else if !databagName(bag.name) {
				continue
			}
		}
		one.where = whereOf(bag.name)
		all = append(all, one.bags(bag.schema, bag.schema)...)
	}
	return all
}

// decoded is a JSON text with numbers as they are written.
func decoded(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, errors.Trace(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.NotValidf("JSON with more behind it")
	}
	return v, nil
}

var (
	nameWord    = pattern.New(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)
	versionWord = pattern.New(`^v(\d+)$`)
)

// wordsOf are the words of a name in any style.
func wordsOf(name string) (words []string) {
	for _, w := range nameWord.Regexp().FindAllString(name, -1) {
		words = append(words, strings.ToLower(w))
	}
	return words
}

func norm(name string) string {
	return strings.ReplaceAll(strings.Trim(strings.ToLower(name), "_-"), "_", "-")
}

// cutRole takes the word for a role off a name: who has that role publishes what it names.
func cutRole(name string) (rest, role string) {
	var left []string
	for _, w := range wordsOf(name) {
		switch w {
		case "provider", "provides", "provide", "producer":
			role = "provider"
		case "requirer", "requires", "require", "consumer":
			role = "requirer"
		default:
			left = append(left, w)
		}
	}
	return strings.Join(left, "-"), role
}

func whereOf(name string) Where {
	words := wordsOf(name)
	unit := slices.Contains(words, "unit")
	app := slices.Contains(words, "app") || slices.Contains(words, "application")
	switch {
	case unit && !app:
		return UnitBag
	case app && !unit:
		return AppBag
	}
	return Both
}

// databagName says whether a model is called like a databag.
func databagName(name string) bool {
	_, role := cutRole(name)
	words := wordsOf(name)
	has := func(w ...string) bool {
		return slices.ContainsFunc(w, func(w string) bool { return slices.Contains(words, w) })
	}
	return has("databag", "bag") || role != "" && has("data", "schema") || (role != "" || has("data")) && whereOf(name) != Both
}

// placed is what a file's path says of the schemas in it: interfaces/NAME/vN/schemas/ROLE.json,
// lib/charms/CHARM/vN/NAME.py, schemas/NAME-ROLE.json and the like.
func placed(name string) bagSchema {
	at := bagSchema{path: name}
	words := strings.Split(strings.TrimSuffix(name, path.Ext(name)), "/")
	last := len(words) - 1
	stem, role := cutRole(words[last])
	at.role = role
	library := slices.Contains(words, "charms") && words[0] != "interfaces"
	for i, w := range words {
		if m := versionWord.FindStringSubmatch(w); m != nil {
			at.version, _ = strconv.Atoi(m[1])
			continue
		}
		switch {
		case i == last:
			w = stem
		case library:
			continue
		}
		if !slices.Contains([]string{"", "schema", "schemas", "json-schemas", "interfaces", "interface", "src", "lib", "docs", "charm", "init", "databag"}, norm(w)) {
			at.names = append(at.names, norm(w))
		}
	}
	at.generic = len(at.names) == 0
	return at
}

// bags are the schemas of single databags that a schema has: it may be of one, or have those of
// a unit and of an application as properties, or those of both sides.
func (of bagSchema) bags(root, part any) (all []bagSchema) {
	rules := opened(root, part)
	properties, _ := rules["properties"].(map[string]any)
	if len(properties) == 0 {
		return nil
	}
	parts := map[string]func(*bagSchema){
		"unit": func(s *bagSchema) { s.where = UnitBag }, "app": func(s *bagSchema) { s.where = AppBag },
		"provider": func(s *bagSchema) { s.role = "provider" }, "requirer": func(s *bagSchema) { s.role = "requirer" },
	}
	for name := range properties {
		if parts[name] == nil {
			of.form = tidied(root, rules)
			return []bagSchema{of}
		}
	}
	for _, name := range sortedKeys(properties) {
		one := of
		parts[name](&one)
		all = append(all, one.bags(root, properties[name])...)
	}
	return all
}

// opened is a schema without references at its top; of several that are to choose from, it is the
// first one that isn't null.
func opened(root, of any) map[string]any {
	for range 20 {
		rules, _ := of.(map[string]any)
		if rules["properties"] != nil {
			return rules
		}
		var next any
		if ref, ok := rules["$ref"].(string); ok {
			next, _ = lookup(root, ref)
		}
		for _, word := range []string{"allOf", "anyOf", "oneOf"} {
			for _, one := range listOf(rules[word]) {
				if is, _ := one.(map[string]any); next == nil && is != nil && is["type"] != "null" {
					next = one
				}
			}
		}
		if next == nil {
			return rules
		}
		of = next
	}
	return nil
}
