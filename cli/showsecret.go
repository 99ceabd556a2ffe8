package cli

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
)

// showSecretFlags are the flags of show-secret.
type showSecretFlags struct {
	reveal, revisions bool
	revision          int
	format, output    string
}

func (a secretVerbs) showSecretCmd() *cobra.Command {
	var f showSecretFlags
	cmd := &cobra.Command{
		Use:     "show-secret ID|NAME",
		Short:   "Show a secret; its content only with --reveal",
		Example: "  unitd show-secret db-password\n  unitd show-secret db-password --reveal --revision 1",
		Args:    Args(1, 1, "no secret specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.revisions && (f.reveal || f.revision != 0) {
				return Usagef("specify either --revisions or --reveal and --revision, not both")
			}
			return a.showSecret(args[0], f)
		},
	}
	cmd.Flags().BoolVar(&f.reveal, "reveal", false, "show the content")
	cmd.Flags().IntVarP(&f.revision, "revision", "r", 0, "the revision whose content is shown (0: the latest)")
	cmd.Flags().BoolVar(&f.revisions, "revisions", false, "show all revisions")
	cmd.Flags().StringVar(&f.format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to this file")
	formats(cmd, "yaml", "json")
	return cmd
}

func (a secretVerbs) showSecret(ref string, f showSecretFlags) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	s, err := m.FindSecret(a.Context(), ref)
	if err != nil {
		return err
	}
	shown := render.SecretOf(s)
	for _, g := range s.Grants {
		shown.Access = append(shown.Access, render.SecretAccessOf(m.UUID(), g))
	}
	if f.revisions {
		for _, r := range s.Revisions {
			shown.Revisions = append(shown.Revisions, render.SecretRevision{
				Revision: r.Revision, Created: render.SecretTime(r.Created), Updated: render.SecretTime(r.Created), Backend: "internal", Expires: render.SecretTime(r.Expires),
			})
		}
	}
	if f.reveal {
		content, err := m.SecretContent(a.Context(), s.ID, f.revision)
		if err != nil {
			return err
		}
		shown.Content = &render.SecretContent{Data: map[string]string{}}
		for k, v := range content {
			b, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				return errors.NewNotValid(nil, fmt.Sprintf("the value of %q is not valid base64", k))
			}
			shown.Content.Data[k] = string(b)
		}
		// Of the keys in order, as that is how maps are written.
		encoded, err := json.Marshal(content)
		if err != nil {
			return errors.Trace(err)
		}
		shown.Checksum = fmt.Sprintf("%x", sha256.Sum256(encoded))
	}
	a.secret = f.reveal
	list := render.NewSecretList()
	list.Add(s.ID, shown)
	return a.write(f.format, f.output, list)
}
