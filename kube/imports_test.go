package kube_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/unitd/unitd/kube"
)

func TestWhatACharmImportsIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"import ops\n": "false []",
		"import lightkube\nfrom lightkube.resources.core_v1 import Pod, Service as S\n":                                            "true []",
		"    from lightkube.resources.apps_v1 import (\n    Deployment,  # one, of (two\n    StatefulSet,\n    DaemonSet as D,\n)": "true [DaemonSet Deployment]",
		"from lightkube.models.apps_v1 import Deployment":                                                                          "true []",
		"from lightkube.generic_resource import create_namespaced_resource":                                                        "true [custom resources]",
		"from kubernetes import client, config":                                                                                    "true []",
		"import kubernetes":                                                                                                        "true []",
		"import kubernetes_helpers, lightkubes\n# import lightkube":                                                                "false []",
	} {
		i, err := kube.ReadImports(fstest.MapFS{"src/charm.py": {Data: []byte(text)}, "src/README": {Data: []byte("import lightkube")}})
		if got := fmt.Sprint(i.Uses, " ", i.Unanswered); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	const nodes = "from lightkube.resources.core_v1 import Node"
	i, err := kube.ReadImports(fstest.MapFS{
		"lib/charms/x/v0/x.py": {Data: []byte(nodes)}, "venv/x.py": {Data: []byte("from lightkube.resources.core_v1 import Event")},
		"src/big.py": {Data: []byte("import lightkube\n" + strings.Repeat(" ", 2<<20))},
	})
	if err != nil || !i.Uses || fmt.Sprint(i.Unanswered) != "[Node]" {
		t.Errorf("got %+v, %v", i, err)
	}
}
