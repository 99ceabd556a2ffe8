package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
)

// SecretTime is a time as it is shown of secrets; empty: there is none.
func SecretTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}

// Secret is a secret as people and scripts see it. Source:
// docs/spec/cli-juju.md §2.8.
type Secret struct {
	Revision    int    `json:"revision" yaml:"revision"`
	Expires     string `json:"expires,omitempty" yaml:"expires,omitempty"`
	Rotation    string `json:"rotation,omitempty" yaml:"rotation,omitempty"`
	Rotates     string `json:"rotates,omitempty" yaml:"rotates,omitempty"`
	Owner       string `json:"owner" yaml:"owner"`
	Description string `json:"description,omitempty" yaml:"description,omitempty"`
	Name        string `json:"name,omitempty" yaml:"name,omitempty"`
	Label       string `json:"label,omitempty" yaml:"label,omitempty"`
	Created     string `json:"created" yaml:"created"`
	Updated     string `json:"updated" yaml:"updated"`
	// Checksum is of the content that is shown.
	Checksum  string           `json:"checksum,omitempty" yaml:"checksum,omitempty"`
	Content   *SecretContent   `json:"content,omitempty" yaml:"content,omitempty"`
	Revisions []SecretRevision `json:"revisions,omitempty" yaml:"revisions,omitempty"`
	Access    []SecretAccess   `json:"access,omitempty" yaml:"access,omitempty"`
}

// SecretContent is what a secret holds.
type SecretContent struct {
	Data map[string]string `json:"Data" yaml:"data"`
}

// SecretRevision is what is known of a revision.
type SecretRevision struct {
	Revision int    `json:"revision" yaml:"revision"`
	Created  string `json:"created" yaml:"created"`
	Updated  string `json:"updated" yaml:"updated"`
	Backend  string `json:"backend,omitempty" yaml:"backend,omitempty"`
	Expires  string `json:"expires,omitempty" yaml:"expires,omitempty"`
}

// SecretAccess is what one grant allows.
type SecretAccess struct {
	Target string `json:"target" yaml:"target"`
	Scope  string `json:"scope" yaml:"scope"`
	Role   string `json:"role" yaml:"role"`
}

// SecretOf is a secret for printing, without its content, revisions and grants.
func SecretOf(s model.SecretInfo) Secret {
	latest := s.Latest()
	shown := Secret{
		Revision: latest.Revision, Expires: SecretTime(latest.Expires), Rotates: SecretTime(s.NextRotate),
		Owner: s.Owner.Name, Description: s.Description, Label: s.Label,
		Created: SecretTime(s.Created), Updated: SecretTime(s.Updated),
	}
	if s.Rotate != model.RotateNever {
		shown.Rotation = string(s.Rotate)
	}
	if s.Owner.Kind == model.OwnedByModel {
		shown.Owner, shown.Name, shown.Label = "<model>", s.Label, ""
	}
	return shown
}

// SecretList is secrets by id, in the order in which they were added to it.
type SecretList struct {
	ids  []model.SecretID
	byID map[model.SecretID]Secret
}

// NewSecretList is a list without secrets.
func NewSecretList() *SecretList { return &SecretList{byID: map[model.SecretID]Secret{}} }

// Add adds a secret at the end.
func (l *SecretList) Add(id model.SecretID, s Secret) {
	l.ids = append(l.ids, id)
	l.byID[id] = s
}

// MarshalJSON keeps the order.
func (l *SecretList) MarshalJSON() ([]byte, error) {
	var parts []string
	for _, id := range l.ids {
		b, err := json.Marshal(l.byID[id])
		if err != nil {
			return nil, errors.Trace(err)
		}
		parts = append(parts, fmt.Sprintf("%q:%s", id, b))
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// MarshalYAML keeps the order.
func (l *SecretList) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, id := range l.ids {
		var v yaml.Node
		if err := v.Encode(l.byID[id]); err != nil {
			return nil, errors.Trace(err)
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: string(id)}, &v)
	}
	return n, nil
}

// SecretAccessOf is a grant for printing; relations are those of the model.
func SecretAccessOf(modelUUID string, g model.SecretGrant) SecretAccess {
	shown := SecretAccess{Target: "application-" + g.Target, Scope: "model-" + modelUUID, Role: "view"}
	if strings.Contains(g.Target, "/") {
		shown.Target = model.UnitName(g.Target).Tag()
	}
	if g.Relation != model.NoRelation {
		shown.Scope = fmt.Sprintf("relation-%d", g.Relation)
	}
	return shown
}
