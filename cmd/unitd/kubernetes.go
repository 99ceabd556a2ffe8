package main

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/kube"
)

// noteKubernetes says in a line what a container charm wants of the Kubernetes API that
// it won't find: all of it where it isn't trusted, and kinds of objects. What
// can't be read of the charm is for others to complain about.
func (a *app) noteKubernetes(c *charmdir.Charm, application string, trusted bool) {
	if !c.Sidecar() {
		return
	}
	var files fs.FS = os.DirFS(c.Path)
	if !c.Dir {
		r, err := zip.OpenReader(c.Path)
		if err != nil {
			return
		}
		defer r.Close()
		files = r
	}
	found, err := kube.ReadImports(files)
	if err != nil || !found.Uses {
		return
	}
	var lacks []string
	if !trusted {
		lacks = append(lacks, fmt.Sprintf(`it gets none of it until "unitd trust %s --scope=cluster", as --trust was not given`, application))
	}
	if len(found.Unanswered) > 0 {
		lacks = append(lacks, "it imports what isn't answered here: "+strings.Join(found.Unanswered, ", "))
	}
	if len(lacks) > 0 {
		a.note("WARNING %q uses the Kubernetes API: %s", c.Name, strings.Join(lacks, "; "))
	}
}
