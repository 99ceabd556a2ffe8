// Package starter makes the first tests of a charm from its metadata: a scenario for
// "unitd test", the same with pytest, and the workflow that runs both. It is pure: who
// calls it writes the files. What it writes is for the charm's author to go on from.
package starter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
)

// File is one that is written into a charm's repository.
type File struct{ Path, Text string }

// Files are the first tests of a charm, and the workflow, which runs unitd as it was
// released under that version; empty: as it is on the main branch.
func Files(c model.Charm, version string) []File {
	plan := planOf(c)
	return []File{
		{"tests/comes-up.txtar", plan.scenario()},
		{"tests/test_comes_up.py", plan.pytest()},
		{".github/workflows/unitd.yaml", workflow(version)},
	}
}

// plan is what the tests do with a charm.
type plan struct {
	model.Charm
	peers   []peer            // that it is related with
	images  map[string]string // for resources that the charm itself says nothing of
	option  string            // one that has a default; empty: there is none
	value   string
	actions []string
}

// peer is what an endpoint of the charm is related with.
type peer struct{ endpoint, app, stub string }

// planOf decides what the tests do.
func planOf(c model.Charm) plan {
	p := plan{Charm: c, images: map[string]string{}, actions: slices.Sorted(maps.Keys(c.Actions))}
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		e := c.Endpoints[name]
		if e.Role == model.Peer || e.Scope == model.Container || e.Interface == model.JujuInfo {
			continue
		}
		role := model.Requirer
		if e.Role == model.Requirer {
			role = model.Provider
		}
		app := "other-" + strings.Trim(strings.ReplaceAll(name, "_", "-"), "-")
		if !model.ValidApplication(app) {
			continue
		}
		p.peers = append(p.peers, peer{name, app, fmt.Sprintf("%s:%s:%s", name, e.Interface, role)})
	}
	for _, name := range c.Images() {
		if c.Resources[name].Upstream == "" {
			p.images[name] = "host"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		o := c.Options[name]
		text := fmt.Sprint(o.Default)
		if o.Default != nil && o.Type != "secret" && text != "" && !strings.ContainsAny(text, "'\"\\\n$") {
			p.option, p.value = name, text
			break
		}
	}
	return p
}

// principal is the endpoint by which a subordinate is where its principal is, and what
// that is called in the principal's metadata; ok is false for another charm.
func (p plan) principal() (endpoint, provides string, ok bool) {
	if !p.Subordinate {
		return "", "", false
	}
	for _, name := range slices.Sorted(maps.Keys(p.Endpoints)) {
		e := p.Endpoints[name]
		if e.Scope != model.Container || e.Role != model.Requirer {
			continue
		}
		if e.Interface == model.JujuInfo {
			return name, "", true
		}
		return name, fmt.Sprintf("provides: {host: {interface: %s, scope: container}}\n", e.Interface), true
	}
	return "", "", false
}

// scenario is the script for "unitd test".
func (p plan) scenario() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# %s comes up, and none of its hooks fails.", p.Name)
	say("#")
	say("# Run this with: unitd test ./tests")
	say("# \"settle\" waits until nothing is left to do, and fails if a hook has failed.")
	say("")
	if len(p.Containers) > 0 {
		say("[!containers] skip 'this needs isolated units, for the containers %s'", strings.Join(p.ContainerNames(), ", "))
	}
	deploy := "deploy $SCRIPT_DIR/.. " + p.Name
	for _, name := range slices.Sorted(maps.Keys(p.images)) {
		say("# The charm says no image for %s: name one here.", name)
		deploy += fmt.Sprintf(" --resource %s=%s", name, p.images[name])
	}
	say("%s", deploy)
	endpoint, provides, subordinate := p.principal()
	if subordinate {
		say("deploy ./principal")
		say("integrate %s:%s principal", p.Name, endpoint)
	}
	say("settle")
	say("hooks %s/0", p.Name)
	say("stdout '^start'")
	for _, peer := range p.peers {
		say("")
		say("# It is related by %s. The other side is played by this script:", peer.endpoint)
		say("# \"stub-set %s/0 KEY=VALUE\" says something.", peer.app)
		say("stub %s %s", peer.app, peer.stub)
		say("integrate %s:%s %s:%[2]s", p.Name, peer.endpoint, peer.app)
		say("settle")
	}
	if p.option != "" {
		say("")
		say("# It takes configuration.")
		say("config %s '%s=%s'", p.Name, p.option, p.value)
		say("settle")
	}
	if len(p.actions) > 0 {
		say("")
		say("# Its actions, with the parameters that they want as KEY=VALUE:")
		for _, name := range p.actions {
			say("# run %s/0 %s", p.Name, name)
		}
	}
	if subordinate {
		say("")
		say("-- principal/metadata.yaml --")
		b.WriteString("name: principal\n" + provides)
	}
	return b.String()
}

// pytest is the same as tests in Python.
func (p plan) pytest() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say(`"""The first tests of %s. Run them with: pytest tests`, p.Name)
	say("")
	say("The fixture unitd is a world of its own for each test, and juju a jubilant.Juju on it.")
	say(`"""`)
	say("")
	say("from pathlib import Path")
	say("")
	if len(p.Containers) > 0 {
		say("import pytest")
		say("")
	}
	say("CHARM = Path(__file__).parent.parent")
	if len(p.Containers) > 0 {
		say("")
		say("# Containers run beside isolated units alone.")
		say("pytestmark = pytest.mark.unitd(isolate=\"auto\")")
	}
	say("")
	say("")
	endpoint, provides, subordinate := p.principal()
	args := "unitd"
	if subordinate {
		args = "unitd, tmp_path"
	}
	say("def deploy(%s):", args)
	say(`    """Deploy the charm."""`)
	deploy := fmt.Sprintf("    unitd.deploy(CHARM, %q", p.Name)
	if p.Subordinate {
		deploy += ", num_units=0"
	}
	if len(p.images) > 0 {
		var given []string
		for _, name := range slices.Sorted(maps.Keys(p.images)) {
			given = append(given, fmt.Sprintf("%q: %q", name, p.images[name]))
		}
		deploy += ", resources={" + strings.Join(given, ", ") + "}"
	}
	say("%s)", deploy)
	if subordinate {
		say("    principal = tmp_path / \"principal\"")
		say("    principal.mkdir()")
		say("    (principal / \"metadata.yaml\").write_text(%q)", "name: principal\n"+provides)
		say("    unitd.deploy(principal)")
		say("    unitd.integrate(%q, \"principal\")", p.Name+":"+endpoint)
	}
	say("    unitd.settle()")
	test := func(name string) {
		say("")
		say("")
		say("def test_%s(%s):", name, args)
		say("    deploy(%s)", args)
	}
	test("it_comes_up")
	say("    assert \"start\" in unitd.hooks(%q)", p.Name+"/0")
	for _, peer := range p.peers {
		test("it_is_related_by_" + strings.ReplaceAll(peer.endpoint, "-", "_"))
		say("    unitd.stub(%q, %q)", peer.app, peer.stub)
		say("    unitd.integrate(%q, %q)", p.Name+":"+peer.endpoint, peer.app+":"+peer.endpoint)
		say("    unitd.settle()")
		say("    assert any(hook.startswith(%q) for hook in unitd.hooks(%q))", peer.endpoint+"-relation-created", p.Name+"/0")
	}
	return b.String()
}

// workflow runs both on GitHub, with this project's own action (action.yml).
func workflow(version string) string {
	ref := "main"
	if version != "" {
		ref = "v" + version
	}
	return `name: unitd

on:
  push:
  pull_request:

permissions:
  contents: read

jobs:
  tests:
    runs-on: ubuntu-24.04
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v6
      - uses: unitd/unitd@` + ref + `
        with:
          scenarios: tests
          pytest: tests
`
}
