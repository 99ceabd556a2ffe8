package cli

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

func (a cloudVerbs) showCloudCmd() *cobra.Command {
	var format, output string
	var config bool
	cmd := &cobra.Command{
		Use:     "show-cloud CLOUD",
		Short:   "Show what is recorded of a cloud",
		Example: "  unitd show-cloud harbourstack\n  unitd show-cloud harbourstack --client --format json",
		Args:    Args(1, 1, "no cloud specified"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := reading(cmd)
			ofController, ofClient, err := a.cloudsOf(s)
			if err != nil {
				return err
			}
			all := append(ofController, ofClient...)
			found := slices.DeleteFunc(slices.Clone(all), func(c render.Cloud) bool { return c.Name != args[0] })
			if len(found) == 0 {
				a.failure(errors.Errorf("cloud %s not found, possible alternative clouds:", args[0]))
				for _, c := range all {
					a.Note("  %s", c.Name)
				}
				return Exit(Failed)
			}
			b, err := render.ShowClouds(format, found, config)
			if err != nil {
				return errors.Annotate(err, "cannot print the result")
			}
			return a.text(output, string(b))
		},
	}
	declareSides(cmd)
	cmd.Flags().BoolVar(&config, "include-config", false, "show the configuration, too")
	cmd.Flags().StringVar(&format, "format", "display", "output format: display, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "display", "json", "yaml")
	return cmd
}

func (a cloudVerbs) cloudsCmd() *cobra.Command {
	var format, output string
	var all bool
	cmd := &cobra.Command{
		Use:     "clouds",
		Aliases: []string{"list-clouds"},
		Short:   "List the clouds that are recorded",
		Example: "  unitd clouds --all\n  unitd clouds --client --format json",
		Args:    Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := reading(cmd)
			ofController, ofClient, err := a.cloudsOf(s)
			if err != nil {
				return err
			}
			if format != "tabular" {
				return a.write(format, output, render.CloudsTree(append(ofController, ofClient...)))
			}
			if !all {
				hidden := len(ofClient)
				ofClient = slices.DeleteFunc(ofClient, func(c render.Cloud) bool { return c.Credentials == 0 })
				if s.client && hidden > len(ofClient) {
					a.Note("Only clouds with registered credentials are shown.\nThere are more clouds, use --all to see them.")
				}
			}
			return a.cloudTables(s, output, ofController, ofClient)
		},
	}
	declareSides(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "show clouds without credentials, too")
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a cloudVerbs) cloudTables(s sides, output string, ofController, ofClient []render.Cloud) error {
	var b strings.Builder
	block := func(title string, rows [][]render.Cell) {
		t := render.Table{}
		t.Block(rows)
		b.WriteString("\n" + title + "\n" + t.String())
	}
	if !s.controller || len(ofController) == 0 {
		b.WriteString("You can bootstrap a new controller using one of these clouds...\n")
	} else {
		block("Clouds available on the controller:", render.CloudRows(ofController, false))
	}
	if s.client && len(ofClient) > 0 {
		block("Clouds available on the client:", render.CloudRows(ofClient, true))
	}
	return a.text(output, b.String())
}

func (a cloudVerbs) addCredentialCmd() *cobra.Command {
	var file, region string
	cmd := &cobra.Command{
		Use:   "add-credential CLOUD",
		Short: "Record credentials for a cloud",
		Long: `Record credentials for a cloud from a file. They are secrets: a client's are in a file for
its owner alone, a controller's in the store, sealed.`,
		Example: "  unitd add-credential aws --client -f credentials.yaml",
		Args:    Args(1, 1, "Usage: juju add-credential <cloud-name> [-f <credentials.yaml>]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return Usagef("name the file that has the credentials, with --file")
			}
			s, err := changing(cmd)
			if err != nil {
				return err
			}
			return a.addCredentials(args[0], file, region, s)
		},
	}
	declareSides(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "the file that has the credentials")
	cmd.Flags().StringVar(&region, "region", "", "recorded as the default region")
	return cmd
}

// addCredentials records those for a cloud that a file has.
func (a cloudVerbs) addCredentials(cloud, file, region string, s sides) error {
	ofController, ofClient, err := a.cloudsOf(sides{true, true})
	if err != nil {
		return err
	}
	known := append(ofController, ofClient...)
	i := slices.IndexFunc(known, func(c render.Cloud) bool { return c.Name == cloud })
	if i < 0 {
		a.Note("To view all available clouds, use 'juju clouds'.\nTo add new cloud, use 'juju add-cloud'.")
		a.failure(errors.NewNotFound(nil, "cloud "+cloud+" not found"))
		return Exit(Failed)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return errors.Annotate(err, "cannot read the credentials")
	}
	fresh, err := model.ParseCredentials(text, file, cloud)
	if err != nil {
		return err
	}
	if err := fresh.CheckAuthTypes(cloud, known[i].AuthTypes); err != nil {
		return err
	}
	if region != "" {
		fresh.DefaultRegion = region
	}
	names := slices.Sorted(maps.Keys(fresh.Credentials))
	list := "Credential \"" + names[0] + "\""
	if len(names) > 1 {
		list = "Credentials \"" + strings.Join(names, ", ") + "\""
	}
	if s.client {
		if err := addClientCredentials(cloud, fresh); err != nil {
			return err
		}
		a.printf("%s added locally for cloud %q.\n\n", list, cloud)
	}
	if s.controller {
		c, err := a.Open()
		if err != nil {
			return err
		}
		if err := c.ChangeCredentials(a.Context(), func(all map[string]model.CloudCredentials) error {
			return addCredentialsTo(all, cloud, fresh, "on the controller")
		}); err != nil {
			return err
		}
		a.printf("%s added to controller %q for cloud %q.\n\n", list, c.Name(), cloud)
	}
	a.records("credentials")
	return nil
}

func addClientCredentials(cloud string, fresh model.CloudCredentials) error {
	return agent.ChangeClient(func(r *agent.ClientRecords) error { return addCredentialsTo(r.Credentials, cloud, fresh, "locally") })
}

// addCredentialsTo adds those for a cloud, of which none may be there.
func addCredentialsTo(all map[string]model.CloudCredentials, cloud string, fresh model.CloudCredentials, where string) error {
	now := all[cloud]
	if now.Credentials == nil {
		now.Credentials = map[string]model.Credential{}
	}
	for _, name := range slices.Sorted(maps.Keys(fresh.Credentials)) {
		if _, there := now.Credentials[name]; there {
			return errors.NewAlreadyExists(nil, "credential \""+name+"\" for cloud \""+cloud+"\" already exists "+where)
		}
	}
	maps.Copy(now.Credentials, fresh.Credentials)
	if fresh.DefaultCredential != "" {
		now.DefaultCredential = fresh.DefaultCredential
	}
	if fresh.DefaultRegion != "" {
		now.DefaultRegion = fresh.DefaultRegion
	}
	all[cloud] = now
	return nil
}
