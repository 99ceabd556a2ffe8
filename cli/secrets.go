package cli

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// secretVerbs are about the secrets of people, and about the keys of all.
type secretVerbs struct{ base }

// secretArgs are the flags by which people say what a secret is to be.
type secretArgs struct {
	info, file, name string
	autoPrune        bool
}

// read is the content that arguments KEY=VALUE and the file give; nil: none.
func (f secretArgs) read(args []string) (model.SecretContent, error) {
	values := map[string]string{}
	if f.file != "" {
		b, err := os.ReadFile(f.file)
		if err != nil {
			return nil, errors.Annotate(err, "cannot read the secret")
		}
		// The error might show what is in the file.
		if yaml.Unmarshal(b, &values) != nil {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("%s is no YAML file of keys and values", f.file))
		}
	}
	for _, arg := range args {
		i := strings.Index(strings.TrimRight(arg, "="), "=")
		if i < 0 {
			key, _, _ := strings.Cut(arg, "=")
			return nil, Usagef("expected KEY=VALUE for %q", key)
		}
		values[arg[:i]] = arg[i+1:]
	}
	if len(values) == 0 {
		return nil, nil
	}
	content := model.SecretContent{}
	for key, value := range values {
		plain, isFile := strings.CutSuffix(key, "#file")
		encodedKey, encoded := strings.CutSuffix(key, "#base64")
		switch {
		case isFile:
			b, err := os.ReadFile(value)
			if err != nil {
				return nil, errors.Annotatef(err, "cannot read the value of %q", plain)
			}
			content[plain] = base64.StdEncoding.EncodeToString(b)
		case encoded:
			if _, err := base64.StdEncoding.DecodeString(value); err != nil {
				return nil, errors.NewNotValid(nil, fmt.Sprintf("the value of %q is not valid base64", encodedKey))
			}
			content[encodedKey] = value
		default:
			content[key] = base64.StdEncoding.EncodeToString([]byte(value))
		}
	}
	return content, content.Check()
}

func (a secretVerbs) addSecretCmd() *cobra.Command {
	var f secretArgs
	cmd := &cobra.Command{
		Use:   "add-secret NAME [KEY=VALUE…]",
		Short: "Add a secret to the model, to be granted to applications",
		Long: `Add a secret to the model and print its URI. A value may be in base64
(KEY#base64=…) or in a file (KEY#file=PATH). Values in arguments can be seen by
others on this machine as long as the command runs: --file reads them from a YAML
file. It is stored encrypted, and read by charms that it is granted to.`,
		Example: "  unitd add-secret db-password --file password.yaml\n  unitd add-secret tls key#file=./tls.key --info 'the site’s key'",
		Args:    Args(1, -1, "no secret name specified"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.addSecret(args[0], args[1:], f) },
	}
	cmd.Flags().StringVar(&f.info, "info", "", "what it is for")
	cmd.Flags().StringVar(&f.file, "file", "", "a YAML file of keys and values")
	return cmd
}

func (a secretVerbs) addSecret(name string, args []string, f secretArgs) error {
	content, err := f.read(args)
	if err != nil {
		return err
	}
	if content == nil {
		return Usagef("missing secret value or filename")
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	id, err := state.NewSecretID()
	if err != nil {
		return err
	}
	err = m.ChangeUserSecret(a.Context(), model.SecretChange{
		ID: id, Make: &model.SecretOwner{Kind: model.OwnedByModel, Name: m.UUID()},
		Label: &name, Description: &f.info, Content: content,
	})
	if errors.Is(err, errors.AlreadyExists) {
		return errors.NewAlreadyExists(nil, fmt.Sprintf("secret with name %q already exists", name))
	}
	if err != nil {
		return err
	}
	a.printf("%s\n", id.URI())
	return nil
}

func (a secretVerbs) updateSecretCmd() *cobra.Command {
	var f secretArgs
	cmd := &cobra.Command{
		Use:   "update-secret ID|NAME [KEY=VALUE…]",
		Short: "Give a secret of the model new content, or another name",
		Long: `Change a secret that was added by add-secret. New content is a new revision: the
charms that read it are told by secret-changed, and read the old one until they ask
for the new one.`,
		Example: "  unitd update-secret db-password --file password.yaml\n  unitd update-secret db-password --auto-prune",
		Args:    Args(1, -1, "no secret specified"),
	}
	cmd.Flags().StringVar(&f.info, "info", "", "what it is for")
	cmd.Flags().StringVar(&f.file, "file", "", "a YAML file of keys and values")
	cmd.Flags().StringVar(&f.name, "name", "", "the new name")
	cmd.Flags().BoolVar(&f.autoPrune, "auto-prune", false, "remove old revisions once nobody reads them")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		content, err := f.read(args[1:])
		if err != nil {
			return err
		}
		c := model.SecretChange{Content: content}
		for name, set := range map[string]func(){
			"info": func() { c.Description = &f.info }, "name": func() { c.Label = &f.name },
			"auto-prune": func() { c.AutoPrune = &f.autoPrune },
		} {
			if cmd.Flags().Changed(name) {
				set()
			}
		}
		return a.changeSecret(args[0], c)
	}
	return cmd
}

// changeSecret changes a secret of the model's.
func (a secretVerbs) changeSecret(ref string, c model.SecretChange) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	s, err := m.FindSecret(a.Context(), ref)
	if err != nil {
		return err
	}
	c.ID = s.ID
	if err := m.ChangeUserSecret(a.Context(), c); err != nil {
		return err
	}
	return a.Ensure()
}

func (a secretVerbs) removeSecretCmd() *cobra.Command {
	revision := 0
	cmd := &cobra.Command{
		Use:     "remove-secret ID|NAME",
		Short:   "Remove a secret of the model, or one revision of it",
		Example: "  unitd remove-secret db-password\n  unitd remove-secret db-password --revision 1",
		Args:    Args(1, 1, "no secret specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			if revision < 0 {
				return Usagef("--revision must be a positive integer")
			}
			if revision == 0 {
				return a.changeSecret(args[0], model.SecretChange{RemoveAll: true})
			}
			return a.changeSecret(args[0], model.SecretChange{Remove: []int{revision}})
		},
	}
	cmd.Flags().IntVar(&revision, "revision", 0, "the revision to remove")
	return cmd
}

func (a secretVerbs) grantSecretCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "grant-secret ID|NAME APPLICATION[,APPLICATION…]",
		Short:   "Let applications read a secret of the model",
		Example: "  unitd grant-secret db-password ledger,shop",
		Args:    Args(2, 2, "expected a secret and applications"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeSecret(args[0], model.SecretChange{Grant: grantsOf(args[1])})
		},
	}
}

func (a secretVerbs) revokeSecretCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke-secret ID|NAME APPLICATION[,APPLICATION…]",
		Short:   "Take back that applications can read a secret of the model",
		Example: "  unitd revoke-secret db-password shop",
		Args:    Args(2, 2, "expected a secret and applications"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeSecret(args[0], model.SecretChange{Revoke: grantsOf(args[1])})
		},
	}
}

func grantsOf(list string) []model.SecretGrant {
	var grants []model.SecretGrant
	for _, app := range strings.Split(list, ",") {
		grants = append(grants, model.SecretGrant{Target: strings.TrimSpace(app), Relation: model.NoRelation})
	}
	return grants
}

func (a secretVerbs) secretsCmd() *cobra.Command {
	var format, output, owner string
	cmd := &cobra.Command{
		Use:     "secrets",
		Aliases: []string{"list-secrets"},
		Short:   "List the secrets of the model",
		Example: "  unitd secrets\n  unitd secrets --owner ledger --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			all, err := m.Secrets(a.Context())
			if err != nil {
				return err
			}
			listed := render.NewSecretList()
			rows := [][]render.Cell{render.Heads("ID", "Name", "Owner", "Rotation", "Revision", "Last updated")}
			for _, s := range all {
				shown := render.SecretOf(s)
				if owner != "" && owner != s.Owner.Name && owner != shown.Owner {
					continue
				}
				listed.Add(s.ID, shown)
				name := shown.Name
				if name == "" {
					name = "-"
				}
				rows = append(rows, []render.Cell{
					{Text: string(s.ID)}, {Text: name}, {Text: shown.Owner}, {Text: string(s.Rotate)},
					{Text: fmt.Sprint(shown.Revision), Right: true}, {Text: shown.Updated},
				})
			}
			if format != "tabular" {
				return a.write(format, output, listed)
			}
			t := &render.Table{}
			t.Block(rows)
			return a.text(output, t.String())
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "only those of this application, unit or model")
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}
