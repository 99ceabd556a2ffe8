package charmdir

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/unitd/unitd/pattern"
)

// Hints are what a person should know of a charm's tree before its hooks would
// tell, or nothing would: a sentence each, without the charm's name. There are none
// of an archive, which is what it is.
func (c *Charm) Hints() []string {
	if !c.Dir {
		return nil
	}
	var hints []string
	if c.Project == nil && isFile(c.Path, programFile) && !isFile(c.Path, "dispatch") && !hasFiles(filepath.Join(c.Path, "hooks")) {
		hints = append(hints, "runs no hooks: "+c.whyNoHooks())
	}
	if missing := missingLibraries(c.Path); len(missing) > 0 {
		hints = append(hints, fmt.Sprintf(`lacks what its charm-libs name: %s; "charmcraft fetch-libs", run in %s, fetches it`, strings.Join(missing, ", "), c.Path))
	}
	return hints
}

// programFile is where the plugins for Python look for a charm's program.
const programFile = "src/charm.py"

// whyNoHooks says of a charm that has a program why nothing runs it.
func (c *Charm) whyNoHooks() string {
	has := "it has " + programFile + ", and neither dispatch nor hooks; "
	if isFile(c.Path, "charmcraft.yaml") {
		return has + "the parts of its charmcraft.yaml make no dispatch, as the plugin charm does"
	}
	return has + `a charmcraft.yaml with "type: charm" has a dispatch made for it`
}

// hasFiles says whether there is anything in a directory.
func hasFiles(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// majorVersion is the part of a library's version that its path has.
var majorVersion = pattern.New(`^[0-9]+`)

// missingLibraries are the files of the libraries that the charmcraft.yaml of a tree
// asks for by charm-libs and that aren't there; what can't be read of it is for
// others to complain about. A charm that was packed before has what it had then.
func missingLibraries(dir string) []string {
	if !isFile(dir, "charmcraft.yaml") || isFile(dir, "manifest.yaml") {
		return nil
	}
	craft, _, err := readYAML(os.DirFS(dir), "charmcraft.yaml")
	if err != nil {
		return nil
	}
	decoded, err := craft.get("charm-libs").any()
	libs, _ := decoded.([]any)
	if err != nil {
		return nil
	}
	var missing []string
	for _, l := range libs {
		lib, _ := l.(map[string]any)
		name, _ := lib["lib"].(string)
		charm, file, ok := strings.Cut(name, ".")
		major := majorVersion.Regexp().FindString(fmt.Sprint(lib["version"]))
		if !ok || charm == "" || file == "" || major == "" || strings.ContainsAny(name, `/\`) {
			continue
		}
		p := path.Join("lib/charms", strings.ReplaceAll(charm, "-", "_"), "v"+major, file+".py")
		if !isFile(dir, p) {
			missing = append(missing, p)
		}
	}
	return missing
}
