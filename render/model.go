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

// ModelFacts are what show-model shows beside the status.
type ModelFacts struct {
	// Controller and ControllerUUID are whose model it is.
	Controller, ControllerUUID string
	// Secrets is how many secrets the model has.
	Secrets int
	// Host is what its local machines are made of.
	Host Host
	Now  time.Time
}

// ModelTree is what show-model shows. Source: docs/spec/cli-juju.md §2.6,
// docs/spec/juju-clients.md §6.1. The type
// is "kubernetes" for a model that was made for container charms, or has none but
// them: tools take another way there, on which there are no machines.
func ModelTree(s *state.FullStatus, f ModelFacts) Tree {
	kind := ShownType(s.Model, s.Applications)
	t := Tree{
		"name": UserName + "/" + s.Model.Name, "short-name": s.Model.Name, "model-uuid": s.Model.UUID, "model-type": TypeName(kind),
		"controller-uuid": f.ControllerUUID, "controller-name": f.Controller, "is-controller": false,
		"owner": UserName, "cloud": CloudName(s.Model.Type), "region": RegionName, "type": ProviderName(kind), "life": s.Model.Life.String(),
		"status":          Tree{"current": ModelStatus(s.Model), "since": Friendly(s.Model.Created, f.Now)},
		"users":           Tree{UserName: Tree{"display-name": UserName, "access": UserName, "last-connection": JustNow}},
		"secret-backends": Tree{"internal": Tree{"num-secrets": f.Secrets, "status": "active"}},
		"sla":             "unsupported",
		"agent-version":   hooks.Version,
		"supported-features": []Tree{
			{"name": model.FeatureJuju, "description": "the version of Juju that charms find", "version": hooks.Version},
			{"name": model.FeatureK8sAPI, "description": "what charms need of Kubernetes", "version": KubernetesVersion},
		},
	}
	if len(s.Machines) > 0 {
		machines := Tree{}
		for _, m := range s.Machines {
			cores := 0 // nobody knows those of a host that has joined
			if m.Provider == state.LocalProvider {
				cores = f.Host.Cores
			}
			machines[m.ID] = Tree{"cores": cores}
		}
		t["machines"] = machines
	}
	return t
}

// Friendly is when something was, as people say it. Source:
// docs/spec/juju-clients.md §0.
func Friendly(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 2*time.Second:
		return JustNow
	case d < time.Minute:
		return fmt.Sprintf("%d seconds ago", d/time.Second)
	case d < 2*time.Minute:
		return "1 minute ago"
	case d < time.Hour:
		return fmt.Sprintf("%d minutes ago", d/time.Minute)
	case d < 2*time.Hour:
		return "1 hour ago"
	case d < 24*time.Hour:
		return fmt.Sprintf("%d hours ago", d/time.Hour)
	}
	return t.UTC().Format(time.DateOnly)
}
