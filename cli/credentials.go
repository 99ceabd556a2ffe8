package cli

import (
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

func (a cloudVerbs) credentialsCmd() *cobra.Command {
	var format, output string
	var secrets bool
	cmd := &cobra.Command{
		Use:     "credentials [CLOUD]",
		Aliases: []string{"list-credentials"},
		Short:   "List the credentials that are recorded",
		Example: "  unitd credentials\n  unitd credentials aws --format json",
		Args:    Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := reading(cmd)
			tree, err := a.credentialsOf(s)
			if err != nil {
				return err
			}
			for _, all := range []map[string]model.CloudCredentials{tree.Client, tree.Controller} {
				maps.DeleteFunc(all, func(cloud string, c model.CloudCredentials) bool {
					return len(args) == 1 && cloud != args[0] || len(c.Credentials) == 0
				})
			}
			if !secrets {
				tree = tree.Hidden()
			}
			a.secret = secrets
			if format != "tabular" {
				return a.write(format, output, tree)
			}
			if secrets {
				a.Note("secrets are not shown in tabular format")
			}
			return a.text(output, credentialTables(s, tree))
		},
	}
	declareSides(cmd)
	cmd.Flags().BoolVar(&secrets, "show-secrets", false, "show what is secret, too, as JSON or YAML")
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

// credentialsOf are those that are recorded on those sides.
func (a cloudVerbs) credentialsOf(s sides) (tree render.CredentialsTree, err error) {
	if s.client {
		records, err := agent.ReadClient()
		if err != nil {
			return tree, err
		}
		tree.Client = records.Credentials
	}
	if s.controller {
		c, err := a.Open()
		if err != nil {
			return tree, err
		}
		if tree.Controller, err = c.Credentials(a.Context()); err != nil {
			return tree, err
		}
	}
	return tree, nil
}

// credentialTables are the names of the credentials, for people.
func credentialTables(s sides, tree render.CredentialsTree) string {
	var b strings.Builder
	for _, block := range []struct {
		title string
		all   map[string]model.CloudCredentials
	}{{"Controller Credentials:", tree.Controller}, {"Client Credentials:", tree.Client}} {
		if len(block.all) > 0 {
			t := render.Table{}
			t.Block(render.CredentialRows(block.all))
			b.WriteString("\n" + block.title + "\n" + t.String())
		}
	}
	switch {
	case b.Len() > 0:
	case s.client:
		return "No credentials from this client to display.\n"
	default:
		return "No credentials from any controller to display.\n"
	}
	return b.String()
}
