package cli

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// imageHelp is what the help of several commands says of images.
const imageHelp = `
An image is a file with its registrypath, username and password in YAML or JSON; an
archive, as a .rock or docker-archive:FILE, oci-archive:FILE; oci-layout:DIR;
docker-daemon:NAME; rootfs:DIR; host, the host's own root; or what a registry calls
it: docker.io/library/nginx:1.27.`

func (a charmVerbs) attachResourceCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "attach-resource APPLICATION NAME=VALUE…",
		Short: "Give an application a file, or an image, for a resource of its charm",
		Long: `Give an application a file for a resource of its charm, or an image where the
resource is one. Its units run upgrade-charm and config-changed, and get it by
resource-get. What it has already is no change.
` + imageHelp,
		Example:           "  unitd attach-resource ledger schema=./schema.sql\n  unitd attach-resource web web-image=docker.io/library/nginx:1.27",
		Args:              Args(2, -1, "expected an application and NAME=VALUE"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			app, err := m.Application(a.Context(), args[0])
			if err != nil {
				return err
			}
			charm, err := m.Charm(a.Context(), app.Charm)
			if err != nil {
				return err
			}
			values, err := resourceArgs(charm.Charm, args[1:])
			if err != nil {
				return err
			}
			given, err := a.StoreResources(m, charm.Charm, values)
			if err != nil {
				return err
			}
			if err := m.SetResources(a.Context(), app.Name, given); err != nil {
				return err
			}
			return a.added()
		},
	}
}

// resourceArgs takes arguments NAME=VALUE for resources of the charm apart, and
// checks them.
func resourceArgs(charm model.Charm, args []string) (map[string]string, error) {
	values := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" || value == "" {
			return nil, Usagef("expected NAME=FILE for a resource, or NAME=IMAGE, got %q", arg)
		}
		if _, twice := values[name]; twice {
			return nil, Usagef("resource %q is given twice", name)
		}
		values[name] = value
	}
	return values, deploy.CheckResources(charm, values)
}

func (a charmVerbs) resourcesCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:               "resources APPLICATION",
		Aliases:           []string{"list-resources"},
		Short:             "List the resources of an application",
		Example:           "  unitd resources ledger\n  unitd resources ledger --format json",
		Args:              Args(1, 1, "no application specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			infos, err := a.resourcesOf(m, args[0])
			if err != nil {
				return err
			}
			if format != "tabular" {
				return a.write(format, output, infos)
			}
			text := render.ResourcesTable(infos)
			if output != "" {
				return a.writeFile(output, text)
			}
			_, err = io.WriteString(a.Out, text)
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

// resourcesOf are the resources that the application's charm declares, by name,
// each with what was given for it.
func (a charmVerbs) resourcesOf(m *state.Model, application string) ([]render.Resource, error) {
	app, err := m.Application(a.Context(), application)
	if err != nil {
		return nil, err
	}
	charm, err := m.Charm(a.Context(), app.Charm)
	if err != nil {
		return nil, err
	}
	infos := []render.Resource{}
	for _, name := range slices.Sorted(maps.Keys(charm.Charm.Resources)) {
		spec := charm.Charm.Resources[name]
		info := render.Resource{Name: name, Type: spec.Type, Filename: spec.Filename}
		if given, ok := app.Resources[name]; ok {
			info.Supplied, info.Revision = "admin", given.Revision
			if given.Hub != nil {
				info.Supplied, info.Revision, info.Hub = render.FromCharmhub, *given.Hub, true
			}
			info.Given, info.Size, info.SHA256 = given.Given.UTC().Format(time.RFC3339), given.Size, given.SHA256
			if given.Image != nil {
				info.Image, info.Digest = given.Image.Reference, given.Image.Digest
			}
		}
		infos = append(infos, info)
	}
	return infos, nil
}
