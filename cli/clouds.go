package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// cloudVerbs record clouds, and credentials for them. Source: docs/spec/juju-clients.md §4.
type cloudVerbs struct{ base }

// sides say whose copies a verb is about.
type sides struct{ client, controller bool }

// declareSides declares --client; --controller all verbs have.
func declareSides(cmd *cobra.Command) { cmd.Flags().Bool("client", false, "the client's own records") }

// reading are the sides that a reading verb shows: both, where none is named.
func reading(cmd *cobra.Command) sides {
	s := sides{cmd.Flags().Changed("client"), cmd.Flags().Changed(controllerOption)}
	if s == (sides{}) {
		return sides{true, true}
	}
	return s
}

// changing are the sides that a changing verb is told to change.
func changing(cmd *cobra.Command) (sides, error) {
	s := sides{cmd.Flags().Changed("client"), cmd.Flags().Changed(controllerOption)}
	if s == (sides{}) {
		return s, errors.New("The command is piped and Juju cannot prompt to clarify whether the --client or a --controller is to be used.\n" +
			"Give --client, --controller NAME, or both.")
	}
	return s, nil
}

// cloudsOf are the clouds that there are on those sides, by name, the controller's first.
func (a cloudVerbs) cloudsOf(s sides) (ofController, ofClient []render.Cloud, err error) {
	if s.controller {
		c, err := a.Open()
		if err != nil {
			return nil, nil, err
		}
		doc, err := c.Identity(a.Context())
		if err != nil {
			return nil, nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(doc.Clouds)) {
			ofController = append(ofController, render.Cloud{Cloud: doc.Clouds[name], Name: name, Controller: c.Name()})
		}
	}
	if !s.client {
		return ofController, nil, nil
	}
	records, err := agent.ReadClient()
	if err != nil {
		return nil, nil, err
	}
	all := model.KnownClouds()
	maps.Copy(all, records.Clouds)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := render.Cloud{Cloud: all[name], Name: name, Defined: render.PublicCloud, Credentials: len(records.Credentials[name].Credentials)}
		if _, own := records.Clouds[name]; own {
			c.Defined = render.LocalCloud
		} else if slices.Contains(hostClouds(), name) {
			c.Defined = render.BuiltInCloud
		}
		ofClient = append(ofClient, c)
	}
	return ofController, ofClient, nil
}

// changeClouds changes the clouds that are recorded on those sides, one after the other,
// and tells of each what change says of it, once that is done.
func (a cloudVerbs) changeClouds(s sides, change func(clouds map[string]model.Cloud, where side) (said []string, err error)) error {
	if s.client {
		var said []string
		if err := agent.ChangeClient(func(r *agent.ClientRecords) (err error) {
			said, err = change(r.Clouds, side{})
			return err
		}); err != nil {
			return err
		}
		a.tell(said)
	}
	if !s.controller {
		return nil
	}
	c, err := a.Open()
	if err != nil {
		return err
	}
	var said []string
	_, err = c.ChangeIdentity(a.Context(), func(doc *state.ControllerDoc) (err error) {
		if doc.Clouds == nil {
			doc.Clouds = map[string]model.Cloud{}
		}
		said, err = change(doc.Clouds, side{c.Name()}) // of the last time that it is tried
		return err
	})
	if err != nil {
		return err
	}
	a.tell(said)
	return nil
}

func (a cloudVerbs) tell(said []string) {
	for _, line := range said {
		a.Note("%s", line)
	}
}

// side is one of sides: a controller, or, without a name, the client.
type side struct{ controller string }

func (a cloudVerbs) addCloudCmd() *cobra.Command {
	var file, credential string
	var force bool
	cmd := &cobra.Command{
		Use:     "add-cloud CLOUD [FILE]",
		Short:   "Record a cloud",
		Long:    "Record what a file says of a cloud. Models run on this host, whatever it says.",
		Example: "  unitd add-cloud harbourstack clouds.yaml --client",
		Args:    Args(1, 2, "no cloud specified"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				file = args[1]
			}
			cloud, s, err := readCloud(cmd, args[0], file)
			if err != nil {
				return err
			}
			err = a.changeClouds(s, func(clouds map[string]model.Cloud, where side) ([]string, error) {
				if _, there := clouds[args[0]]; there {
					return nil, alreadyThere(args[0], where)
				}
				clouds[args[0]] = cloud
				if where.controller != "" {
					return []string{fmt.Sprintf("Cloud %q added to controller %q.", args[0], where.controller)}, nil
				}
				return []string{
					fmt.Sprintf("Cloud %q successfully added to your local client.", args[0]),
					fmt.Sprintf("\"unitd add-credential %s --client -f FILE\" records credentials for it.", args[0]),
				}, nil
			})
			if err == nil {
				a.records("clouds")
			}
			return err
		},
	}
	declareSides(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "the file that says what the cloud is")
	cmd.Flags().BoolVar(&force, "force", false, "noted: no cloud is refused")
	cmd.Flags().StringVar(&credential, "credential", "", "noted")
	return cmd
}

// readCloud reads a cloud from its file, for the sides that the command line names.
func readCloud(cmd *cobra.Command, name, file string) (model.Cloud, sides, error) {
	if err := model.CheckCloudName(name); err != nil {
		return model.Cloud{}, sides{}, Usagef("%v", err)
	}
	if file == "" {
		return model.Cloud{}, sides{}, Usagef("name the file that says what cloud %q is, with --file", name)
	}
	s, err := changing(cmd)
	if err != nil {
		return model.Cloud{}, s, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return model.Cloud{}, s, errors.Annotate(err, "cannot read the cloud")
	}
	cloud, err := model.ParseCloud(text, file, name)
	return cloud, s, err
}

func alreadyThere(name string, where side) error {
	option := "--client"
	if where.controller != "" {
		option = "--controller " + where.controller
	}
	return errors.NewAlreadyExists(nil, fmt.Sprintf("cloud %q already exists: use `update-cloud %s %s` to replace it", name, name, option))
}

func (a cloudVerbs) updateCloudCmd() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "update-cloud CLOUD",
		Short:   "Record anew what a cloud is",
		Long:    "Record anew what a file says of a cloud; without a file a controller's copy becomes as the client's.",
		Example: "  unitd update-cloud harbourstack --client -f clouds.yaml\n  unitd update-cloud harbourstack -c unitd",
		Args:    Args(1, 1, "cloud name required"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, how := args[0], "provided file"
			s, err := changing(cmd)
			if err != nil {
				return err
			}
			var cloud model.Cloud
			if file != "" {
				cloud, _, err = readCloud(cmd, name, file)
			} else {
				how = "client cloud definition"
				cloud, err = clientCloud(name)
			}
			if err != nil {
				return err
			}
			err = a.changeClouds(s, func(clouds map[string]model.Cloud, where side) ([]string, error) {
				place := "on this client"
				if where.controller != "" {
					place = fmt.Sprintf("on controller %q", where.controller)
				}
				if _, there := clouds[name]; !there {
					return nil, errors.NewNotFound(nil, fmt.Sprintf("no cloud called %q exists %s", name, place))
				}
				clouds[name] = cloud
				return []string{fmt.Sprintf("Cloud %q updated %s using %s.", name, place, how)}, nil
			})
			if err == nil {
				a.records("clouds")
			}
			return err
		},
	}
	declareSides(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "the file that says what the cloud is")
	return cmd
}

// clientCloud is what is recorded for the client.
func clientCloud(name string) (model.Cloud, error) {
	records, err := agent.ReadClient()
	if err != nil {
		return model.Cloud{}, err
	}
	if c, ok := records.Clouds[name]; ok {
		return c, nil
	}
	return model.Cloud{}, errors.NewNotFound(nil, fmt.Sprintf("no cloud called %q exists on this client", name))
}

func (a cloudVerbs) removeCloudCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove-cloud CLOUD",
		Short:   "Forget a cloud",
		Example: "  unitd remove-cloud harbourstack --client",
		Args:    Args(1, 1, "Usage: juju remove-cloud <cloud name>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := changing(cmd)
			if err != nil {
				return err
			}
			return a.changeClouds(s, func(clouds map[string]model.Cloud, where side) ([]string, error) {
				from, on := "this client", "this client"
				if where.controller != "" {
					from = fmt.Sprintf("controller %q", where.controller)
					on = from
				}
				if _, there := clouds[args[0]]; !there {
					return []string{fmt.Sprintf("No cloud called %q exists on %s", args[0], on)}, nil
				}
				delete(clouds, args[0])
				return []string{fmt.Sprintf("Removed details of cloud %q from %s", args[0], from)}, nil
			})
		},
	}
	declareSides(cmd)
	return cmd
}
