package charmdir

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// Project is how a source tree is made into a charm that can run, as the parts
// of its charmcraft.yaml say it. Source: docs/charms.md, "Source trees",
// docs/spec/ops-needs.md §1 (11) and §5.
type Project struct {
	// Part is the name of the part that has the charm's program; empty where
	// charmcraft.yaml has no parts.
	Part string
	// Plugin is that part's plugin: charm, poetry, python or uv.
	Plugin string
	// Dir is the folder that Requirements and the others are relative to.
	Dir string
	// Entrypoint is the charm's program, below the charm's directory.
	Entrypoint string
	// Requirements and Constraints are files of pip's; Packages are what is
	// installed beside them, as pip's command line has it.
	Requirements, Constraints, Packages []string
	// Extras and Groups are those of pyproject.toml that are installed too. For
	// poetry Groups are all that is installed, "main" is what is in none.
	Extras, Groups []string
	// Ignored are keys of the parts that matter to charmcraft and aren't
	// followed here, as "part: key".
	Ignored []string

	// Says are the words of charmcraft.yaml, by which its changes are told.
	Says string

	parts   []part
	ignores []ignore // of .jujuignore
}

// validProgram is a path that means nothing else to a shell.
var validProgram = pattern.New(`^[A-Za-z0-9_.+@/-]+$`)

// charmFiles are those beside src and lib that the plugins for Python put into
// each charm.
var charmFiles = []string{"src", "lib", "metadata.yaml", "config.yaml", "actions.yaml", "version"}

// primedFiles are what the plugin charm takes whatever else prime names, beside
// charmFiles.
var primedFiles = []string{
	"dispatch", "hooks", "metrics.yaml", "lxd-profile.yaml", "templates", "mod", "icon.svg", "LICENSE", "README.md", "NOTICE", "AUTHORS",
}

// programs are the plugins that make a charm's program.
var programs = []string{"charm", "poetry", "python", "uv"}

// unfollowed are keys of a part that change what charmcraft makes of it.
var unfollowed = []string{
	"override-pull", "override-build", "override-stage", "override-prime", "stage-packages", "stage-snaps", "build-environment",
}

// readProject reads how the tree at dir is built. It is nil for a tree that is
// a charm as it is: without a charmcraft.yaml, packed before (it has a
// manifest.yaml), or with parts that only copy.
func readProject(dir string) (*Project, error) {
	if !isFile(dir, "charmcraft.yaml") || isFile(dir, "manifest.yaml") {
		return nil, nil
	}
	craft, _, err := readYAML(os.DirFS(dir), "charmcraft.yaml")
	if err != nil {
		return nil, nil // it is said in its place by who reads the charm
	}
	says, _, err := readFile(os.DirFS(dir), "charmcraft.yaml")
	if err != nil {
		return nil, err
	}
	runs := isFile(dir, "dispatch") || isDir(dir, "hooks")
	p := &Project{Dir: dir, Entrypoint: "src/charm.py", Says: string(says)}
	if err := p.readIgnores(); err != nil {
		return nil, err
	}
	parts, err := craft.get("parts").entries()
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		if runs || !isFile(dir, p.Entrypoint) {
			return nil, nil
		}
		return p.withoutParts(), nil
	}
	parts = slices.DeleteFunc(parts, func(e entry) bool { return e.mapping() != nil }) // they say nothing
	switch {
	case slices.ContainsFunc(parts, func(e entry) bool { return builds(e, runs) }):
	case !runs && isFile(dir, p.Entrypoint) && scripted(parts):
		// A script makes the charm, and the plugin none of it.
		p = p.withoutParts()
	default:
		return nil, nil
	}
	for _, e := range parts {
		if err := p.readPart(e, runs); err != nil {
			return nil, err
		}
	}
	return p, p.check()
}

// plugin is that of a part; one that names none has charmcraft's of its name.
func plugin(e entry) (string, error) {
	name, err := e.get("plugin").text()
	if name == "" {
		name = e.key
	}
	return name, err
}

// builds says whether a part makes something without which the charm can't
// run; what isn't known does so in a charm that has nothing to run.
func builds(e entry, runs bool) bool {
	name, _ := plugin(e)
	return slices.Contains(programs, name) || name != "dump" && name != "nil" && !runs
}

// scripted says whether all that parts with a script do is that script.
func scripted(parts []entry) bool {
	return slices.ContainsFunc(parts, func(e entry) bool {
		name, _ := plugin(e)
		return name == "nil" && !e.get("override-build").null()
	})
}

// withoutParts is a project that says nothing of how it is built.
func (p *Project) withoutParts() *Project {
	p.Plugin = "charm"
	p.parts = []part{{source: "."}}
	if isFile(p.Dir, "poetry.lock") && !isFile(p.Dir, "requirements.txt") {
		p.Plugin, p.Groups = "poetry", []string{"main"}
	}
	if isFile(p.Dir, "uv.lock") || p.Plugin != "poetry" && isFile(p.Dir, "pyproject.toml") && !isFile(p.Dir, "requirements.txt") {
		p.Plugin = "uv"
	}
	p.defaultRequirements()
	return p
}

func (p *Project) readPart(e entry, runs bool) error {
	plugin, err := plugin(e)
	if err != nil {
		return err
	}
	pt := part{}
	if pt.source, err = e.get("source").text(); err != nil {
		return err
	}
	if pt.source = path.Clean(strings.TrimPrefix(pt.source, "./")); pt.source == "" {
		pt.source = "."
	}
	if pt.prime, err = e.get("prime").strings(); err != nil {
		return err
	}
	switch plugin {
	case "nil":
		p.ignore(e)
		return nil
	case "dump":
	case "charm", "poetry", "python", "uv":
		if p.Plugin != "" {
			return e.errorf("a second part that is a charm's program; part %q is one", p.Part)
		}
		p.Part, p.Plugin = e.key, plugin
		if pt.source != "." {
			return e.get("source").errorf("only the folder of charmcraft.yaml itself, \".\", is known here")
		}
		if plugin != "charm" {
			pt.only = charmFiles
		}
		if err := p.readPlugin(e); err != nil {
			return err
		}
		if plugin == "charm" && slices.ContainsFunc(pt.prime, func(p string) bool { return !strings.HasPrefix(p, "-") }) {
			top, _, _ := strings.Cut(p.Entrypoint, "/")
			pt.prime = slices.Concat(pt.prime, []string{top}, charmFiles, primedFiles)
		}
	default:
		if runs {
			p.Ignored = append(p.Ignored, e.key+": plugin "+plugin)
			return nil
		}
		return e.errorf("plugin %q isn't known here (charm, dump, nil, poetry, python and uv are): pack the charm with charmcraft, and deploy the .charm file", plugin)
	}
	if !isDir(p.Dir, pt.source) || strings.HasPrefix(pt.source, "..") || path.IsAbs(pt.source) {
		return e.get("source").errorf("%q isn't a folder of the charm's", pt.source)
	}
	if !e.get("organize").null() {
		return e.get("organize").errorf("isn't known here: pack the charm with charmcraft, and deploy the .charm file")
	}
	p.ignore(e)
	p.parts = append(p.parts, pt)
	return nil
}

// ignore notes what a part says that isn't followed.
func (p *Project) ignore(e entry) {
	for _, key := range unfollowed {
		if !e.get(key).null() {
			p.Ignored = append(p.Ignored, e.key+": "+key)
		}
	}
}

// readPlugin reads the settings of the plugin.
func (p *Project) readPlugin(e entry) error {
	lists := map[string][]struct {
		key string
		to  *[]string
	}{
		"charm": {
			{"charm-requirements", &p.Requirements}, {"charm-binary-python-packages", &p.Packages}, {"charm-python-packages", &p.Packages},
		},
		"python": {
			{"python-requirements", &p.Requirements}, {"python-constraints", &p.Constraints}, {"python-packages", &p.Packages},
		},
		"uv":     {{"uv-extras", &p.Extras}, {"uv-groups", &p.Groups}},
		"poetry": {{"poetry-with", &p.Groups}},
	}
	strict, err := e.get("charm-strict-dependencies").boolean()
	if err != nil {
		return err
	}
	for _, l := range lists[p.Plugin] {
		if strict && strings.HasPrefix(l.key, "charm-binary") {
			continue // there it says which of the requirements may be binaries
		}
		list, err := e.get(l.key).strings()
		if err != nil {
			return err
		}
		*l.to = append(*l.to, list...)
	}
	for _, file := range slices.Concat(p.Requirements, p.Constraints) {
		if !isFile(p.Dir, file) && !strings.Contains(file, "://") {
			return e.errorf("there is no file %q", file)
		}
	}
	if entry, err := e.get("charm-entrypoint").text(); err != nil {
		return err
	} else if entry != "" {
		p.Entrypoint = path.Clean(entry)
	}
	p.defaultRequirements()
	if p.Plugin == "poetry" {
		return p.readPoetry(e)
	}
	return nil
}

// defaultRequirements are the requirements of a project that names none. The
// libraries of other charms that it has say what they need themselves.
func (p *Project) defaultRequirements() {
	if p.Plugin == "uv" || p.Plugin == "poetry" {
		return
	}
	if len(p.Requirements) == 0 && isFile(p.Dir, "requirements.txt") {
		p.Requirements = []string{"requirements.txt"}
	}
	if p.Plugin == "charm" {
		p.Packages = append(p.Packages, pydeps(p.Dir)...)
	}
}

// check says whether there is a program.
func (p *Project) check() error {
	switch {
	case checkName(p.Entrypoint) != nil || !validProgram.MatchString(p.Entrypoint):
		return errors.NewNotValid(nil, fmt.Sprintf("charmcraft.yaml: parts.%s.charm-entrypoint: %q isn't the path of a program inside the charm", p.Part, p.Entrypoint))
	case !isFile(p.Dir, p.Entrypoint) && !isFile(p.Dir, "dispatch") && !isDir(p.Dir, "hooks"):
		return errors.NewNotValid(nil, fmt.Sprintf("charmcraft.yaml: parts.%s: there is no program %s", p.Part, p.Entrypoint))
	case isFile(p.Dir, p.Entrypoint) && len(p.names(p.Entrypoint)) == 0 && p.makesDispatch() && !isDir(p.Dir, "hooks"):
		return errors.NewNotValid(nil, fmt.Sprintf("charmcraft.yaml: parts.%s.prime: it leaves out the charm's program, %s", p.Part, p.Entrypoint))
	}
	return nil
}

// makesDispatch says whether the charm gets a dispatch: not where it has its
// own, and not where its hooks are all that it has.
func (p *Project) makesDispatch() bool {
	own := isFile(p.Dir, "dispatch") && len(p.names("dispatch")) > 0
	return !own && isFile(p.Dir, p.Entrypoint)
}

// dispatch is the script that the agent runs for each hook and action.
func (p *Project) dispatch() []byte {
	run := `"$dir/` + p.Entrypoint + `"`
	if strings.HasSuffix(p.Entrypoint, ".py") {
		run = "python3 " + run
	}
	return []byte(`#!/bin/sh
# Made by unitd: runs the charm's program, with its libraries and packages.
dir=${JUJU_CHARM_DIR:-$(cd "$(dirname "$0")" && pwd)}
export JUJU_DISPATCH_PATH="${JUJU_DISPATCH_PATH:-$0}"
export PYTHONPATH="$dir/lib:$dir/venv:$dir/src"
exec ` + run + "\n")
}

// passes says whether an entry of the tree, with all below it, can't be the
// charm's: caches, what builds leave, and what .jujuignore names.
func (p *Project) passes(name string, dir bool) bool {
	if Passing(name) || slices.Contains([]string{"venv", "env", "build", ".jujuignore", "charmcraft.yaml"}, name) || dir && LeftByBuild(p.Dir, name) {
		return true
	}
	out := false
	for _, i := range p.ignores {
		if i.matches(name, dir) {
			out = !i.not
		}
	}
	return out
}

func isFile(dir, name string) bool {
	st, err := os.Stat(filepath.Join(dir, name))
	return err == nil && st.Mode().IsRegular()
}

func isDir(dir, name string) bool {
	st, err := os.Stat(filepath.Join(dir, name))
	return err == nil && st.IsDir()
}
