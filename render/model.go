package render

import (
	"fmt"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/kube"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// KubernetesVersion is the version of Kubernetes that charms find here.
const KubernetesVersion = kube.Version

// JustNow is when whoever asks was connected to a model last: they are now.
const JustNow = "just now"

// ModelTree is what show-model shows. Source: docs/spec/cli-juju.md §2.6. The type
// is "kubernetes" for a model that was made for container charms, or has none but
// them: tools take another way there, on which there are no machines.
func ModelTree(s *state.FullStatus, controller string, now time.Time) Tree {
	kind := ShownType(s.Model, s.Applications)
	t := Tree{
		"name": UserName + "/" + s.Model.Name, "short-name": s.Model.Name, "model-uuid": s.Model.UUID, "model-type": TypeName(kind),
		"controller-uuid": controller, "controller-name": ControllerName, "is-controller": false,
		"owner": UserName, "cloud": CloudName(s.Model.Type), "region": RegionName, "type": ProviderName(kind), "life": s.Model.Life.String(),
		"status":        Tree{"current": ModelStatus(s.Model), "since": ago(now.Sub(s.Model.Created))},
		"users":         Tree{UserName: Tree{"display-name": UserName, "access": UserName, "last-connection": JustNow}},
		"sla":           "unsupported",
		"agent-version": hooks.Version,
		"supported-features": []Tree{
			{"name": model.FeatureJuju, "description": "the version of Juju that charms find", "version": hooks.Version},
			{"name": model.FeatureK8sAPI, "description": "what charms need of Kubernetes", "version": KubernetesVersion},
		},
	}
	if len(s.Machines) > 0 {
		machines := Tree{}
		for _, m := range s.Machines {
			machines[m.ID] = Tree{"cores": 0}
		}
		t["machines"] = machines
	}
	return t
}

// ago is how long ago something was, as Juju says it.
func ago(d time.Duration) string {
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		switch n := int(d / unit.is); {
		case n == 1:
			return "1 " + unit.name + " ago"
		case n > 1:
			return fmt.Sprintf("%d %ss ago", n, unit.name)
		}
	}
	return JustNow
}
