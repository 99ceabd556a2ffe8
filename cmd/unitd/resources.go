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
	"github.com/unitd/unitd/state"
)

func (a *app) attachResourceCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "attach-resource APPLICATION NAME=FILE…",
		Short: "Give an application a file for a resource of its charm",
		Long: `Give an application a file for a resource of its charm. Its units run
upgrade-charm and config-changed, and get the file by resource-get. A file that
it has already is no change.`,
		Example:           "  unitd attach-resource ledger schema=./schema.sql",
		Args:              args(2, -1, "expected an application and NAME=FILE"),
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
			paths, err := resourceArgs(charm.Charm, args[1:])
			if err != nil {
				return err
			}
			files, err := a.storeResources(m, paths)
			if err != nil {
				return err
			}
			if err := m.SetResources(a.ctx, app.Name, files); err != nil {
				return err
			}
			return a.ensureAgent()
		},
	}
}

// resourceArgs takes arguments NAME=FILE for resources of the charm apart, and
// checks them.
func resourceArgs(charm model.Charm, args []string) (map[string]string, error) {
	paths := map[string]string{}
	for _, arg := range args {
		name, path, ok := strings.Cut(arg, "=")
		if !ok || name == "" || path == "" {
			return nil, usagef("expected NAME=FILE for a resource, got %q", arg)
		}
		if _, twice := paths[name]; twice {
			return nil, usagef("resource %q is given twice", name)
		}
		paths[name] = path
	}
	return paths, checkResources(charm, paths)
}

// checkResources says what is wrong with files for resources of the charm, before
// anything is stored.
func checkResources(charm model.Charm, paths map[string]string) error {
	if err := state.CheckResources(charm, paths); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		path, want := paths[name], filepath.Ext(charm.Resources[name].Filename)
		if ext := filepath.Ext(path); ext != want {
			return errors.NewNotValid(nil, fmt.Sprintf("incorrect extension on resource upload %q, expected %q", path, want))
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			return errors.NewNotFound(nil, fmt.Sprintf("file for resource %q is not there: %s", name, path))
		}
	}
	return nil
}

// storeResources stores files by the names of the resources that they are for.
func (a *app) storeResources(m *state.Model, paths map[string]string) (map[string]state.File, error) {
	files := map[string]state.File{}
	for name, path := range paths {
		file, err := a.storeResource(m, path)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot store resource %q", name)
		}
		files[name] = file
	}
	return files, nil
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

// resourceInfo is a resource as people see it.
type resourceInfo struct {
	Name     string `json:"name" yaml:"name"`
	Type     string `json:"type" yaml:"type"`
	Filename string `json:"filename,omitempty" yaml:"filename,omitempty"`
	Supplied string `json:"supplied-by,omitempty" yaml:"supplied-by,omitempty"`
	Revision int    `json:"revision,omitempty" yaml:"revision,omitempty"`
	Given    string `json:"given,omitempty" yaml:"given,omitempty"`
	Size     int64  `json:"size,omitempty" yaml:"size,omitempty"`
	SHA256   string `json:"sha256,omitempty" yaml:"sha256,omitempty"`
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
			text := resourcesTable(infos)
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

func resourcesTable(infos []resourceInfo) string {
	if len(infos) == 0 {
		return "No resources to display.\n"
	}
	rows := [][]cell{heads("Resource", "Supplied by", "Revision")}
	for _, info := range infos {
		supplied, revision := "-", "-"
		if info.Supplied != "" {
			supplied, revision = info.Supplied, info.Given
		}
		rows = append(rows, []cell{{text: info.Name}, {text: supplied}, {text: revision}})
	}
	t := &table{}
	t.block(rows)
	return t.b.String()
}

// resourcesOf are the resources that the application's charm declares, by name,
// each with what was given for it.
func (a *app) resourcesOf(m *state.Model, application string) ([]resourceInfo, error) {
	app, err := m.Application(a.ctx, application)
	if err != nil {
		return nil, err
	}
	charm, err := m.Charm(a.ctx, app.Charm)
	if err != nil {
		return nil, err
	}
	infos := []resourceInfo{}
	for _, name := range slices.Sorted(maps.Keys(charm.Charm.Resources)) {
		spec := charm.Charm.Resources[name]
		info := resourceInfo{Name: name, Type: spec.Type, Filename: spec.Filename}
		if given, ok := app.Resources[name]; ok {
			info.Supplied, info.Revision = "admin", given.Revision
			info.Given, info.Size, info.SHA256 = given.Given.UTC().Format(time.RFC3339), given.Size, given.SHA256
		}
		infos = append(infos, info)
	}
	return infos, nil
}
