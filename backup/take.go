package backup

import (
	"bufio"
	"bytes"
	"context"
	stderrors "errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
)

// What a data directory has that is only in it, besides what is of models: see docs/operating.md, "Files".
var (
	ownFiles     = []string{"agent.id", "current-model", "clouds.yaml", "credentials.yaml", "images"}
	storageFiles = []string{"storage", "released-storage"}
)

// KeyFile is the name of the file with the keys of secrets, in a data directory.
const KeyFile = "secret.key"

// Source is what a backup is taken of.
type Source struct {
	// Dir is the data directory, and Controller has its store.
	Dir        string
	Controller *state.Controller
	// Keys reads the keys of secrets, as KeyFile has them; nil, or empty: there are none yet.
	Keys func() ([]byte, error)
	// Storage has the content of storage be in it.
	Storage bool
	// Version and Host are those of Info.
	Version, Host string
}

// Taken is what came of taking a backup.
type Taken struct {
	Info
	// LeftOut are paths below the data directory that this user may not read.
	LeftOut []string `json:"left-out,omitempty"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
}

// Take writes a backup to a new file, for whoever can open it. Agents may run
// meanwhile. There is no file at that path before it is whole; one that was killed may leave
// a part of it beside it, path and ".part", which the next one writes over. The error is
// AlreadyExists where there is a file.
func Take(ctx context.Context, disk durable.Disk, from Source, to []age.Recipient, path string) (taken Taken, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errors.NewAlreadyExists(nil, "there is a file "+path+" already: name another one")
		}
		return taken, err
	}
	part := path + ".part"
	f, err := disk.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return taken, errors.Annotate(err, "cannot write the backup")
	}
	defer func() {
		if err != nil {
			err = stderrors.Join(err, disk.RemoveAll(part)) // a part of a backup is none
		}
	}()
	out := bufio.NewWriterSize(f, 1<<20)
	t := &taking{Source: from, ctx: ctx}
	err = t.all(out, to)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = disk.Chmod(part, 0o600) // also where a former one was there
	}
	if err = first(err, f.SyncData(), f.Close()); err != nil {
		return taken, errors.Annotate(err, "cannot write the backup")
	}
	st, err := os.Stat(part)
	if err == nil {
		err = disk.Rename(part, path)
	}
	if err == nil {
		err = disk.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return taken, errors.Annotate(err, "cannot write the backup")
	}
	return Taken{t.info, t.leftOut, st.Size()}, nil
}

// first is the first of errors that isn't nil.
func first(errs ...error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// taking is a backup that is being taken.
type taking struct {
	Source
	ctx   context.Context
	info  Info
	units map[string]kept
	// keys are those from before the moment of the backup and from just after it: of the ones a
	// newer one may be missing that the store is sealed with, and of the others an older one.
	keys    []byte
	leftOut []string
}

func (t *taking) all(out *bufio.Writer, to []age.Recipient) error {
	if err := t.readKeys(); err != nil {
		return errors.Trace(err)
	}
	before, err := journals(t.Dir)
	if err != nil {
		return errors.Trace(err)
	}
	a, err := newArchive(out, to, time.Now())
	if err != nil {
		return errors.Trace(err)
	}
	store, err := t.Controller.WriteEverything(t.ctx, lines{a}, func(all state.Everything) error {
		if err := t.readKeys(); err != nil {
			return errors.Trace(err)
		}
		if t.units, err = keep(t.Dir, all.Units, before); err != nil {
			return errors.Trace(err)
		}
		t.describe(all, a.taken)
		return errors.Trace(a.json(infoName, t.info))
	})
	if err == nil {
		err = a.flush()
	}
	if err == nil {
		err = t.files(a)
	}
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(a.close(store.Documents))
}

// readKeys reads the keys of secrets, again: with those that were read before they are all that
// the store can be sealed with, whenever rotate-secret-key runs.
func (t *taking) readKeys() error {
	if t.Keys == nil {
		return nil
	}
	keys, err := t.Keys()
	if err == nil {
		t.keys = withKeys(keys, t.keys)
	}
	return errors.Trace(err)
}

// withKeys are keys with those of others that aren't among them behind.
func withKeys(keys, others []byte) []byte {
	all := bytes.TrimSpace(keys)
	for line := range bytes.Lines(others) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.Contains(all, line) {
			all = bytes.TrimSpace(slices.Concat(all, []byte("\n"), line))
		}
	}
	if len(all) == len(bytes.TrimSpace(keys)) {
		return keys
	}
	return append(all, '\n')
}

// describe says what the backup is of.
func (t *taking) describe(all state.Everything, at time.Time) {
	t.info = Info{Format: Format, Version: t.Version, Host: t.Host, Taken: at.UTC().Truncate(time.Second), Revision: all.Rev, Storage: t.Storage, Models: []Model{}}
	for _, m := range all.Models {
		of := Model{Name: m.Name, UUID: m.UUID, Units: []Unit{}}
		for _, u := range all.Units {
			if u.Model != m.UUID {
				continue
			}
			unit := Unit{Name: string(u.Name), Run: u.Run, Isolated: u.Isolated}
			if u.Provider != state.LocalProvider {
				unit.Machine = u.Machine
			}
			if k, here := t.units[unitFiles(u)]; here {
				unit.Running, _ = k.running()
			}
			of.Units = append(of.Units, unit)
		}
		t.info.Models = append(t.info.Models, of)
	}
}

// files writes what is in the data directory.
func (t *taking) files(a *archive) error {
	files, err := newTree(a, t.Dir)
	if err != nil {
		return errors.Trace(err)
	}
	if len(t.keys) > 0 {
		if err := files.text(KeyFile, t.keys); err != nil {
			return errors.Trace(err)
		}
	}
	for _, m := range t.info.Models {
		if err := t.model(files, m.UUID); err != nil {
			return errors.Annotatef(err, "model %q", m.Name)
		}
	}
	names := ownFiles
	if t.Storage {
		names = slices.Concat(ownFiles, storageFiles)
	}
	for _, name := range names {
		if err := files.add(name, nil); err != nil {
			return errors.Trace(err)
		}
	}
	t.leftOut = files.leftOut
	return nil
}

// model writes what a data directory has of a model.
func (t *taking) model(files *tree, uuid string) error {
	dir := machine.ModelDir("", uuid)
	for _, name := range unitNames(t.units, uuid) {
		if err := files.unit(t.units[name]); err != nil {
			return errors.Trace(err)
		}
		if err := files.ends(t.units[name]); err != nil {
			return errors.Trace(err)
		}
	}
	err := files.add(dir, func(name string) bool {
		return name == filepath.Join(dir, "agents") || isUnitsHistory(name, t.units)
	})
	return errors.Trace(err)
}

// unitNames are the directories of a model's units, in order.
func unitNames(units map[string]kept, uuid string) (names []string) {
	for name := range units {
		if strings.HasPrefix(name, machine.ModelDir("", uuid)+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
