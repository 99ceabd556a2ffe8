package bundle_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/bundle"
)

// summary is what a bundle says, in words that a table can compare.
func summary(b *bundle.Bundle) string {
	var all []string
	for _, app := range b.Applications {
		line := app.Name + "=" + filepath.Base(app.Charm.String())
		if app.Units >= 0 {
			line += fmt.Sprintf("*%d", app.Units)
		}
		for _, option := range slices.Sorted(maps.Keys(app.Set)) {
			line += " " + option + ":" + app.Set[option]
		}
		if app.Constraints != "" {
			line += " {" + app.Constraints + "}"
		}
		for _, name := range slices.Sorted(maps.Keys(app.ExposedTo)) {
			line += fmt.Sprintf(" expose %q %v", name, app.ExposedTo[name].CIDRs)
		}
		for _, o := range app.Offers {
			line += fmt.Sprintf(" offer %s %v %v", o.Name, o.Endpoints, o.ACL)
		}
		all = append(all, line)
	}
	for _, s := range b.SAAS {
		all = append(all, s.Name+"@"+s.URL())
	}
	for _, r := range b.Relations {
		all = append(all, r[0]+"-"+r[1])
	}
	for _, m := range b.Machines {
		all = append(all, "machine "+m.ID)
	}
	return strings.Join(all, "; ")
}

// TestOverlays: what an overlay says changes a bundle by these rules.
func TestOverlays(t *testing.T) {
	t.Parallel()
	const base = `
applications:
  ledger: {charm: ./ledger, num_units: 2, options: {port: 1, title: x}}
  shop: {charm: ./shop, constraints: mem=1G}
saas:
  dns: {url: admin/net.dns}
relations:
- [shop:db, ledger:db]
- [shop, [dns, ledger]]
`
	for _, test := range []struct{ name, overlays, want string }{
		{"one that says nothing", "{}", "ledger=ledger*2 port:1 title:x; shop=shop {mem=1024M}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger"},
		{"an application that isn't there is added", "applications: {web: {charm: ./web}}",
			"ledger=ledger*2 port:1 title:x; shop=shop {mem=1024M}; web=web; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger"},
		{"one without a body is removed, with its relations", "applications: {ledger: }", "shop=shop {mem=1024M}; dns@admin/net.dns; shop-dns"},
		{"so is one with an empty body", "applications: {ledger: {}}", "shop=shop {mem=1024M}; dns@admin/net.dns; shop-dns"},
		{"a scalar replaces", "applications: {ledger: {charm: ./other, num_units: 0}, shop: {constraints: cores=2}}",
			"ledger=other*0 port:1 title:x; shop=shop {cores=2}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger"},
		{"scale replaces num_units", "applications: {ledger: {scale: 5}}",
			"ledger=ledger*5 port:1 title:x; shop=shop {mem=1024M}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger"},
		{"a map is merged key by key", "applications: {ledger: {options: {port: 2, debug: true}}}",
			"ledger=ledger*2 debug:true port:2 title:x; shop=shop {mem=1024M}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger"},
		{"a key with an empty value removes that key", "applications: {ledger: {options: {port: {}}}}",
			"ledger=ledger*2 title:x; shop=shop {mem=1024M}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger"},
		{"an empty map clears all", "applications: {ledger: {options: {}}}",
			"ledger=ledger*2; shop=shop {mem=1024M}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger"},
		{"a SAAS is replaced and added", "saas: {dns: {url: admin/other.dns}, kv: {url: admin/net.kv}}",
			"ledger=ledger*2 port:1 title:x; shop=shop {mem=1024M}; dns@admin/other.dns; kv@admin/net.kv; shop:db-ledger:db; shop-dns; shop-ledger"},
		{"and removed, with its relations", "saas: {dns: }",
			"ledger=ledger*2 port:1 title:x; shop=shop {mem=1024M}; shop:db-ledger:db; shop-ledger"},
		{"relations are appended", "relations: [[ledger:log, shop:log]]",
			"ledger=ledger*2 port:1 title:x; shop=shop {mem=1024M}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger; ledger:log-shop:log"},
		{"machines replace the whole map", "applications: {shop: {to: 3}}\nmachines: {3: }",
			"ledger=ledger*2 port:1 title:x; shop=shop {mem=1024M}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger; machine 3"},
		{"what isn't merged isn't", "description: other\ntags: [x]\ndefault-base: ubuntu@22.04",
			"ledger=ledger*2 port:1 title:x; shop=shop {mem=1024M}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger"},
		{"one after the other", "applications: {ledger: {num_units: 7}}\n---\napplications: {ledger: {options: {port: 9}}}\n--- # empty\n---\napplications: {shop: }",
			"ledger=ledger*7 port:9 title:x; dns@admin/net.dns"},
		{"what only an overlay may say", "applications: {ledger: {exposed-endpoints: {db: {expose-to-cidrs: [10.0.0.0/8]}, \"\": {}}, offers: {kv: {endpoints: [log, db], acl: {admin: admin}}}}}",
			`ledger=ledger*2 port:1 title:x expose "" [] expose "db" [10.0.0.0/8] offer kv [db log] map[admin:admin]; shop=shop {mem=1024M}; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger`},
		{"an alias is what it stands for", "applications:\n  a: &a {charm: ./x}\n  ledger: *a",
			"ledger=x*2 port:1 title:x; shop=shop {mem=1024M}; a=x; dns@admin/net.dns; shop:db-ledger:db; shop-dns; shop-ledger"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for how, parse := range map[string]func() (*bundle.Bundle, error){
				"as further documents": func() (*bundle.Bundle, error) { return bundle.Parse("b.yaml", []byte(base+"---\n"+test.overlays)) },
				"as a file": func() (*bundle.Bundle, error) {
					return bundle.Parse("b.yaml", []byte(base), bundle.Source{Path: "o.yaml", Content: []byte(test.overlays)})
				},
			} {
				b, err := parse()
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				if got := summary(b); got != test.want {
					t.Errorf("%s\n got %s\nwant %s", how, got, test.want)
				}
			}
		})
	}
}

// TestAnOverlayHasItsOwnPlace: what it names is relative to its directory, and its
// errors name its file.
func TestAnOverlayHasItsOwnPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "more"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"b.yaml": "applications: {a: {charm: ./a, options: {motd: include-file://motd}}}", "motd": "of the bundle",
		"more/o.yaml": "applications: {a: {options: {other: include-file://motd}}, b: {charm: ./b, resources: {r: ./r}}}", "more/motd": "of the overlay",
		"more/bad.yaml": "applications:\n  a:\n    units: 3", "more/old.yaml": "services: {a: {num_units: 3}}", "more/odd.yaml": "apps: {}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(overlay string) (*bundle.Bundle, error) {
		return bundle.Read(filepath.Join(dir, "b.yaml"), filepath.Join(dir, "more", overlay))
	}
	b, err := read("o.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(b), "a=a motd:of the bundle other:of the overlay; b=b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := b.Applications[1].Charm.Path, filepath.Join(dir, "more", "b"); got != want {
		t.Errorf("the overlay's charm is %s, want %s", got, want)
	}
	if got, want := b.Applications[1].Resources["r"], filepath.Join(dir, "more", "r"); got != want {
		t.Errorf("the overlay's resource is %s, want %s", got, want)
	}
	for overlay, want := range map[string]string{
		"bad.yaml":     "bad.yaml:3: a.units: not known in a bundle here",
		"old.yaml":     `old.yaml:1: services: deprecated 'services' key: an overlay says "applications"`,
		"odd.yaml":     "odd.yaml:1: apps: not known in a bundle here",
		"nowhere.yaml": fmt.Sprintf("no overlay was found at %q", filepath.Join(dir, "more", "nowhere.yaml")),
	} {
		if _, err := read(overlay); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", overlay, err, want)
		}
	}
}
