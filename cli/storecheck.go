package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/clock"
	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

// storeVerbs are about the store that has the models.
type storeVerbs struct{ base }

// storeCmd has what is done with a store as a whole.
func (a storeVerbs) storeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "store",
		Short:   "Check the store for damage, recover what can be read, and upgrade it",
		Long:    `Look after the store that has the models.`,
		Example: "  unitd store check\n  unitd store check --repair\n  unitd store upgrade --dry-run",
		Args:    Args(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var repair bool
	var to string
	check := &cobra.Command{
		Use:   "check",
		Short: "Read the whole store, and say what is damaged in it",
		Long: `Read the whole store: the pages of SQLite's file, the checksum and the revision of
each document, and the hash of each file of charms and resources. Nothing is changed; agents may
run meanwhile.

With --repair each model is written to a file with all that can be read of it, for
"unitd model import --incomplete" to read into a new store, and beside it what there
is in place of damaged documents. The store isn't changed.`,
		Example: "  unitd store check\n  unitd store check --repair --to /root/rescued",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if to != "" && !repair {
				return Usagef("--to is where --repair writes what it has read")
			}
			return a.checkStore(repair, to)
		},
	}
	check.Flags().BoolVar(&repair, "repair", false, "write what can be read of each model to a file")
	check.Flags().StringVar(&to, "to", "", `the directory for those files, instead of "repaired" in the data directory`)
	cmd.AddCommand(check, a.storeUpgradeCmd())
	return cmd
}

// examined is a store as "store check" has found it.
type examined struct {
	name string
	// broken is what is wrong with the engine's file; nil: nothing.
	broken error
	// source is what can be read, and missing the keys that are known to have been
	// in what can't.
	source  state.Source
	missing []string
	*state.Inspection
}

func (a storeVerbs) checkStore(repair bool, to string) error {
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	if err := agent.CheckPrivate(dir); err != nil {
		return err
	}
	e, err := a.examine(dir)
	if err != nil {
		return err
	}
	a.tellDamage(e)
	whole := e.broken == nil && e.Whole()
	if repair && !whole {
		if to == "" {
			to = filepath.Join(dir, "repaired")
		}
		if err := a.repair(e, to); err != nil {
			return err
		}
	}
	switch {
	case whole:
		a.printf("The store %s is whole: models: %d, documents: %d (%d of them without a checksum yet), files: %d\n",
			e.name, len(e.Models), e.Documents, e.Former, e.Files)
		return nil
	case repair:
		return errors.Errorf("the store %s is damaged", e.name)
	}
	return errors.Errorf(`the store %s is damaged: restore a backup, or "unitd store check --repair" writes what can be read`, e.name)
}

// examine reads the whole store.
func (a storeVerbs) examine(dir string) (*examined, error) {
	name, err := a.StoreName()
	if err != nil {
		return nil, err
	}
	path := ""
	switch {
	case name == agent.LocalStore:
		path = filepath.Join(dir, agent.StoreFile)
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return nil, errors.NewNotFound(nil, "there is no store at "+path)
		}
	case agent.OfHost(name):
		path = name
	}
	e := &examined{name: agent.StorePlace(name)}
	if path != "" {
		e.name = path
	}
	s, _, err := a.OpenStore(dir, clock.WallClock)
	if err == nil {
		e.source = s
		err = a.CheckEngine(true)
	}
	if err == nil {
		e.Inspection, err = state.Inspect(a.Context(), s)
	}
	if !errors.Is(err, store.ErrDamaged) {
		return e, errors.Trace(err)
	}
	if path == "" {
		return nil, errors.Trace(err)
	}
	e.broken = err
	kvs, missing, err := sqlite.Salvage(a.Context(), path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	e.source, e.missing = state.Remains(kvs), missing
	e.Inspection, err = state.Inspect(a.Context(), e.source)
	return e, errors.Trace(err)
}

// tellDamage lists what is damaged.
func (a storeVerbs) tellDamage(e *examined) {
	if e.broken != nil {
		a.printf("%s\n", e.broken)
	}
	for _, m := range e.Models {
		if m.Guessed {
			a.printf("model %s: its own document is damaged or lost: it is called %q here\n", m.Info.UUID, m.Info.Name)
		}
		for _, d := range m.Damaged {
			a.printf("model %q: document %s is damaged\n", m.Info.Name, d.Key)
		}
	}
	for _, d := range e.Damaged {
		a.printf("document %s is damaged\n", d.Key)
	}
	for _, key := range e.missing {
		a.printf("document %s can't be read\n", e.inModel(key))
	}
	for _, r := range e.Impossible {
		what := fmt.Sprintf("written at revision %d", r.Rev)
		if r.CreateRev < 1 || r.CreateRev > r.Rev {
			what = fmt.Sprintf("made at revision %d and written at %d", r.CreateRev, r.Rev)
		}
		a.printf("document %s is said to have been %s, which cannot be: the store is at %d\n", e.inModel(r.Key), what, r.At)
	}
	for _, sha := range e.DamagedFiles {
		a.printf("file %s of a charm or resource is damaged: refresh the application, or attach the resource, with a new one\n", sha)
	}
}

// inModel is a key of the store as people know it.
func (e *examined) inModel(key string) string {
	for _, m := range e.Models {
		if rest, ok := strings.CutPrefix(key, "m/"+m.Info.UUID+"/"); ok {
			return fmt.Sprintf("%s of model %q", rest, m.Info.Name)
		}
	}
	return key
}

// repair writes what can be read of each model.
func (a storeVerbs) repair(e *examined, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return errors.Annotate(err, "cannot write what can be read")
	}
	var imports []string
	for _, m := range e.Models {
		path := filepath.Join(to, m.Info.Name+".model")
		lost, err := a.rescue(e, m, path)
		if err != nil {
			return errors.Annotatef(err, "cannot write what can be read of model %q", m.Info.Name)
		}
		a.printf("model %q: what can be read is in %s", m.Info.Name, path)
		if len(lost) > 0 {
			a.printf("; it lacks %s", strings.Join(lost, ", "))
		}
		a.printf("\n")
		imports = append(imports, fmt.Sprintf("unitd model import %s --incomplete", path))
	}
	if len(imports) == 0 {
		a.printf("No model can be recovered: restore a backup\n")
		return nil
	}
	a.printf("To go on with that: \"unitd shutdown\", move %s and all files whose names begin with it elsewhere, then\n", e.name)
	for _, line := range imports {
		a.printf("  %s\n", line)
	}
	return nil
}

// rescue writes one model, and what there is in place of its damaged documents.
func (a storeVerbs) rescue(e *examined, m state.InspectedModel, path string) (lost []string, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	if lost, err = state.ExportReadable(a.Context(), e.source, m, e.missing, f); err != nil {
		return nil, errors.Trace(err)
	}
	if err := f.Sync(); err != nil {
		return nil, errors.Trace(err)
	}
	var damaged []byte
	for _, d := range m.Damaged {
		line, err := json.Marshal(map[string]string{"key": d.Key, "value": strings.TrimRight(string(d.Value), " \t")})
		if err != nil {
			return nil, errors.Trace(err)
		}
		damaged = append(append(damaged, line...), '\n')
	}
	if len(damaged) == 0 {
		return lost, nil
	}
	return lost, errors.Trace(os.WriteFile(strings.TrimSuffix(path, ".model")+".damaged", damaged, 0o600))
}
