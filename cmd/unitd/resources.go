package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (a *app) attachResourceCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "attach-resource APPLICATION NAME=VALUE…",
		Short: "Give an application a file, or an image, for a resource of its charm",
		Long: `Give an application a file for a resource of its charm, or an image where the
resource is one. Its units run upgrade-charm and config-changed, and get it by
resource-get. What it has already is no change.
` + imageHelp,
		Example:           "  unitd attach-resource ledger schema=./schema.sql\n  unitd attach-resource web web-image=docker.io/library/nginx:1.27",
		Args:              args(2, -1, "expected an application and NAME=VALUE"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			app, err := m.Application(a.ctx, args[0])
			if err != nil {
				return err
			}
			charm, err := m.Charm(a.ctx, app.Charm)
			if err != nil {
				return err
			}
			values, err := resourceArgs(charm.Charm, args[1:])
			if err != nil {
				return err
			}
			given, err := a.storeResources(m, charm.Charm, values)
			if err != nil {
				return err
			}
			if err := m.SetResources(a.ctx, app.Name, given); err != nil {
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
			return nil, usagef("expected NAME=FILE for a resource, or NAME=IMAGE, got %q", arg)
		}
		if _, twice := values[name]; twice {
			return nil, usagef("resource %q is given twice", name)
		}
		values[name] = value
	}
	return values, checkResources(charm, values)
}

// checkResources says what is wrong with values for resources of the charm, before
// anything is stored; of images that is found out by resolving them.
func checkResources(charm model.Charm, values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		spec, ok := charm.Resources[name]
		if !ok {
			return state.UnknownResource(charm, name)
		}
		if spec.Type == model.OCIImage {
			continue
		}
		path, want := values[name], filepath.Ext(spec.Filename)
		if ext := filepath.Ext(path); ext != want {
			return errors.NewNotValid(nil, fmt.Sprintf("incorrect extension on resource upload %q, expected %q", path, want))
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			return errors.NewNotFound(nil, fmt.Sprintf("file for resource %q is not there: %s", name, path))
		}
	}
	return nil
}

// storeResources is what values are for resources of the charm, by name: files are
// stored, images resolved.
func (a *app) storeResources(m *state.Model, charm model.Charm, values map[string]string) (map[string]state.Content, error) {
	given, err := a.resolveImages(charm, values)
	if err != nil {
		return nil, err
	}
	for name, path := range values {
		if charm.Resources[name].Type == model.OCIImage {
			continue
		}
		file, err := a.storeResource(m, path)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot store resource %q", name)
		}
		given[name] = state.Content{File: file}
	}
	return given, nil
}

func (a *app) storeResource(m *state.Model, path string) (state.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return state.File{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return state.File{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return state.File{}, err
	}
	return m.StoreFile(a.ctx, hex.EncodeToString(sum.Sum(nil)), f)
}

func (a *app) resourcesCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:               "resources APPLICATION",
		Aliases:           []string{"list-resources"},
		Short:             "List the resources of an application",
		Example:           "  unitd resources ledger\n  unitd resources ledger --format json",
		Args:              args(1, 1, "no application specified"),
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
			_, err = io.WriteString(a.stdout, text)
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file")
	a.formats(cmd, "tabular", "json", "yaml")
	return cmd
}

// resourcesOf are the resources that the application's charm declares, by name,
// each with what was given for it.
func (a *app) resourcesOf(m *state.Model, application string) ([]render.Resource, error) {
	app, err := m.Application(a.ctx, application)
	if err != nil {
		return nil, err
	}
	charm, err := m.Charm(a.ctx, app.Charm)
	if err != nil {
		return nil, err
	}
	infos := []render.Resource{}
	for _, name := range slices.Sorted(maps.Keys(charm.Charm.Resources)) {
		spec := charm.Charm.Resources[name]
		info := render.Resource{Name: name, Type: spec.Type, Filename: spec.Filename}
		if given, ok := app.Resources[name]; ok {
			info.Supplied, info.Revision = "admin", given.Revision
			info.Given, info.Size, info.SHA256 = given.Given.UTC().Format(time.RFC3339), given.Size, given.SHA256
			if given.Image != nil {
				info.Image, info.Digest = given.Image.Reference, given.Image.Digest
			}
		}
		infos = append(infos, info)
	}
	return infos, nil
}
