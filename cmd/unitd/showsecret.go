package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// shownSecret is a secret as people and scripts see it. Source:
// docs/spec/cli-juju.md §2.8.
type shownSecret struct {
	Revision    int             `json:"revision" yaml:"revision"`
	Expires     string          `json:"expires,omitempty" yaml:"expires,omitempty"`
	Rotation    string          `json:"rotation,omitempty" yaml:"rotation,omitempty"`
	Rotates     string          `json:"rotates,omitempty" yaml:"rotates,omitempty"`
	Owner       string          `json:"owner" yaml:"owner"`
	Description string          `json:"description,omitempty" yaml:"description,omitempty"`
	Name        string          `json:"name,omitempty" yaml:"name,omitempty"`
	Label       string          `json:"label,omitempty" yaml:"label,omitempty"`
	Created     string          `json:"created" yaml:"created"`
	Updated     string          `json:"updated" yaml:"updated"`
	Content     *shownContent   `json:"content,omitempty" yaml:"content,omitempty"`
	Revisions   []shownRevision `json:"revisions,omitempty" yaml:"revisions,omitempty"`
	Access      []shownAccess   `json:"access,omitempty" yaml:"access,omitempty"`
}

type shownContent struct {
	Data map[string]string `json:"Data" yaml:"data"`
}

type shownRevision struct {
	Revision int    `json:"revision" yaml:"revision"`
	Created  string `json:"created" yaml:"created"`
	Updated  string `json:"updated" yaml:"updated"`
	Backend  string `json:"backend,omitempty" yaml:"backend,omitempty"`
	Expires  string `json:"expires,omitempty" yaml:"expires,omitempty"`
}

type shownAccess struct {
	Target string `json:"target" yaml:"target"`
	Scope  string `json:"scope" yaml:"scope"`
	Role   string `json:"role" yaml:"role"`
}

func showSecret(m *state.Model, s model.SecretInfo) shownSecret {
	latest := s.Latest()
	shown := shownSecret{
		Revision: latest.Revision, Expires: seconds(latest.Expires), Rotates: seconds(s.NextRotate),
		Owner: s.Owner.Name, Description: s.Description, Label: s.Label,
		Created: seconds(s.Created), Updated: seconds(s.Updated),
	}
	if s.Rotate != model.RotateNever {
		shown.Rotation = string(s.Rotate)
	}
	if s.Owner.Kind == model.OwnedByModel {
		shown.Owner, shown.Name, shown.Label = "<model>", s.Label, ""
	}
	return shown
}

// secretList is secrets by id, in the order in which they were added to it.
type secretList struct {
	ids  []model.SecretID
	byID map[model.SecretID]shownSecret
}

func newSecretList() *secretList { return &secretList{byID: map[model.SecretID]shownSecret{}} }

func (l *secretList) add(id model.SecretID, s shownSecret) {
	l.ids = append(l.ids, id)
	l.byID[id] = s
}

// MarshalJSON keeps the order.
func (l *secretList) MarshalJSON() ([]byte, error) {
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
func (l *secretList) MarshalYAML() (any, error) {
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

// showSecretFlags are the flags of show-secret.
type showSecretFlags struct {
	reveal, revisions bool
	revision          int
	format, output    string
}

func (a *app) showSecretCmd() *cobra.Command {
	var f showSecretFlags
	cmd := &cobra.Command{
		Use:     "show-secret ID|NAME",
		Short:   "Show a secret; its content only with --reveal",
		Example: "  unitd show-secret db-password\n  unitd show-secret db-password --reveal --revision 1",
		Args:    args(1, 1, "no secret specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.revisions && (f.reveal || f.revision != 0) {
				return usagef("specify either --revisions or --reveal and --revision, not both")
			}
			return a.showSecret(args[0], f)
		},
	}
	cmd.Flags().BoolVar(&f.reveal, "reveal", false, "show the content")
	cmd.Flags().IntVarP(&f.revision, "revision", "r", 0, "the revision whose content is shown (0: the latest)")
	cmd.Flags().BoolVar(&f.revisions, "revisions", false, "show all revisions")
	cmd.Flags().StringVar(&f.format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to this file")
	a.formats(cmd, "yaml", "json")
	return cmd
}

func (a *app) showSecret(ref string, f showSecretFlags) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	s, err := m.FindSecret(a.ctx, ref)
	if err != nil {
		return err
	}
	shown := showSecret(m, s)
	for _, g := range s.Grants {
		shown.Access = append(shown.Access, accessOf(m, s, g))
	}
	if f.revisions {
		for _, r := range s.Revisions {
			shown.Revisions = append(shown.Revisions, shownRevision{
				Revision: r.Revision, Created: seconds(r.Created), Updated: seconds(r.Created), Backend: "internal", Expires: seconds(r.Expires),
			})
		}
	}
	if f.reveal {
		content, err := m.SecretContent(a.ctx, s.ID, f.revision)
		if err != nil {
			return err
		}
		shown.Content = &shownContent{Data: map[string]string{}}
		for k, v := range content {
			b, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				return errors.NewNotValid(nil, fmt.Sprintf("the value of %q is not valid base64", k))
			}
			shown.Content.Data[k] = string(b)
		}
	}
	list := newSecretList()
	list.add(s.ID, shown)
	return a.write(f.format, f.output, list)
}

func accessOf(m *state.Model, s model.SecretInfo, g model.SecretGrant) shownAccess {
	shown := shownAccess{Target: "application-" + g.Target, Scope: "model-" + m.UUID(), Role: "view"}
	if strings.Contains(g.Target, "/") {
		shown.Target = model.UnitName(g.Target).Tag()
	}
	if g.Relation != model.NoRelation {
		shown.Scope = fmt.Sprintf("relation-%d", g.Relation)
	}
	return shown
}
