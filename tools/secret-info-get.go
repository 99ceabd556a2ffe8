package tools

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func secretInfoGetTool() Tool {
	return Tool{
		Name:    "secret-info-get",
		Args:    "[<ID>]",
		Summary: "get a secret's metadata info",
		Details: `Prints what is known of a secret of the unit's own, or in the leader of its
application's: all but the content. The secret is named by its ID or its label.`,
		make: func(c *hookcontext.Context) command { return &secretInfoGet{ctx: c} },
	}
}

type secretInfoGet struct {
	ctx   *hookcontext.Context
	id    model.SecretID
	label string
	out   output
}

func (t *secretInfoGet) declare(f *flags) {
	f.StringVar(&t.label, "label", "", "a label used to identify the secret")
	t.out.declare(f, inYAML, inJSON)
}

func (t *secretInfoGet) parse(args []string) (err error) {
	switch {
	case len(args) == 0 && t.label == "":
		return errors.New("require either a secret URI or label")
	case len(args) == 0:
		return nil
	case t.label != "":
		return errors.New("specify either a secret URI or label but not both")
	}
	if t.id, args, err = secretURI(t.ctx, args); err != nil {
		return err
	}
	return noMore(args)
}

// secretMetadata is what is printed of a secret.
type secretMetadata struct {
	Revision    int            `json:"revision" yaml:"revision"`
	Label       string         `json:"label" yaml:"label"`
	Owner       string         `json:"owner" yaml:"owner"`
	Description string         `json:"description,omitempty" yaml:"description,omitempty"`
	Rotation    string         `json:"rotation" yaml:"rotation"`
	Expiry      string         `json:"expiry,omitempty" yaml:"expiry,omitempty"`
	Rotates     string         `json:"rotates,omitempty" yaml:"rotates,omitempty"`
	Access      []secretAccess `json:"access,omitempty" yaml:"access,omitempty"`
}

type secretAccess struct {
	Target string `json:"target" yaml:"target"`
	Scope  string `json:"scope" yaml:"scope"`
	Role   string `json:"role" yaml:"role"`
}

func (t *secretInfoGet) run(c *call) error {
	own, err := t.ctx.Secrets()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(own, func(s model.SecretInfo) bool {
		return s.ID == t.id || t.id == "" && s.Label == t.label
	})
	if i < 0 {
		name := t.label
		if t.id != "" {
			name = string(t.id)
		}
		return errors.NewNotFound(nil, fmt.Sprintf("secret %q not found", name))
	}
	return t.out.write(c, map[string]secretMetadata{string(own[i].ID): t.metadataOf(own[i])})
}

func (t *secretInfoGet) metadataOf(s model.SecretInfo) secretMetadata {
	m := secretMetadata{
		Revision: s.Latest().Revision, Label: s.Label, Owner: string(s.Owner.Kind),
		Description: s.Description, Rotation: string(s.Rotate),
		Expiry: rfc3339(s.Latest().Expires), Rotates: rfc3339(s.NextRotate),
	}
	for _, g := range s.Grants {
		a := secretAccess{Target: "application-" + g.Target, Role: "view"}
		if strings.Contains(g.Target, "/") {
			a.Target = "unit-" + strings.ReplaceAll(g.Target, "/", "-")
		}
		if g.Relation != model.NoRelation {
			a.Scope = t.relationTag(g.Relation)
		}
		m.Access = append(m.Access, a)
	}
	return m
}

// relationTag is the tag of a relation: by its key, or by its id if the unit isn't
// in it. Source: docs/spec/juju-clients.md §11.7.
func (t *secretInfoGet) relationTag(id model.RelationID) string {
	r, err := t.ctx.Relation(id)
	if err != nil || r.Key == "" {
		return fmt.Sprintf("relation-%d", id)
	}
	return "relation-" + strings.NewReplacer(":", ".", " ", "#").Replace(r.Key)
}

func rfc3339(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
