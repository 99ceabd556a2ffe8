package backup

import (
	"archive/tar"
	"context"
	"encoding/json"
	stderrors "errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/google/uuid"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/state"
)

const (
	// unfinished has, in a data directory, what is known of its restoration as long as that isn't done.
	unfinished = "restoring"
	// staging has what isn't in its place yet.
	staging = "restore.new"
	// knownName has, for each model, the restoration that the data directory is of, or
	// has come to terms with.
	knownName = "restored"
)

// Check reads a backup to its end, and says what is in it. Nothing is written. The errors are
// those of Restore about the file.
func Check(path string, with []age.Identity) (Info, error) { return readFile(path, with, sink{}) }

func readFile(path string, with []age.Identity, to sink) (Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return Info{}, errors.Annotate(err, "cannot read the backup")
	}
	defer f.Close()
	info, err := read(f, with, to)
	return info, errors.Annotatef(err, "cannot read %s", path)
}

// Unfinished says whether a data directory has a restoration that isn't done: nobody may
// use it until it was run again.
func Unfinished(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, unfinished))
	return err == nil
}

// Target is what a backup is restored to.
type Target struct {
	// Dir is the data directory: one that isn't there, is empty, or has an unfinished restoration.
	Dir string
	// Open opens the store that is to be filled: one outside of the data directory, or a
	// new one in the directory that it is told. Inside: it is the latter; its files become the data
	// directory's.
	Open   func(dir string) (*state.Controller, func() error, error)
	Inside bool
	// StoreOnly leaves the data directory as it is, but for keys that it lacks and, Inside, the store's file,
	// which must not be there.
	StoreOnly bool
	// StoreFile is the name of that file.
	StoreFile string
}

// Restore makes a data directory and a store of a backup. It reads the whole backup before it
// writes anything. If it is killed, the data directory and the store are as unusable as they were
// before: agents and commands refuse the one (Unfinished), and nobody sees a model in the other.
// Then it can be run again, and begins anew.
//
// Errors: NotEmpty for a data directory that has something, state.ErrNotEmpty for such a store,
// ErrWrongKey, ErrDamaged and NotValid for a file that can't be read.
func Restore(ctx context.Context, disk durable.Disk, to Target, path string, with []age.Identity) (Info, error) {
	r := &restoring{Target: to, ctx: ctx, disk: disk, path: path, with: with}
	if err := r.mayBegin(); err != nil {
		return Info{}, errors.Trace(err)
	}
	info, err := Check(path, with)
	if err != nil {
		return info, errors.Trace(err)
	}
	r.info = info
	if r.StoreOnly && r.placed() {
		return info, errors.Trace(r.endPlaced())
	}
	if err := r.begin(); err != nil {
		return info, errors.Annotate(err, "cannot begin to restore")
	}
	return info, errors.Annotatef(r.all(), "cannot restore %s", path)
}

// ErrNotEmpty is the error for a data directory that has something.
const ErrNotEmpty = errors.ConstError("the data directory is not empty")

// restoring is a restoration.
type restoring struct {
	Target
	ctx  context.Context
	disk durable.Disk
	path string
	with []age.Identity
	info Info
	mark state.RestoredDoc
	// owners has files belong to whom they did.
	owners bool
	void   []string
}

func (r *restoring) at(names ...string) string {
	return filepath.Join(append([]string{r.Dir}, names...)...)
}

// mayBegin refuses a data directory that has something.
func (r *restoring) mayBegin() error {
	if r.StoreOnly {
		return errors.Trace(r.noStore())
	}
	entries, err := os.ReadDir(r.Dir)
	if os.IsNotExist(err) || err == nil && Unfinished(r.Dir) {
		return nil
	}
	if err != nil {
		return errors.Annotate(err, "cannot read the data directory")
	}
	for _, e := range entries {
		if e.Name() != unfinished+".new" { // of one that had hardly begun
			return errors.WithType(errors.Errorf("the data directory %s is not empty: restore into another one (UNITD_DATA), or move away what it has", r.Dir), ErrNotEmpty)
		}
	}
	return nil
}

// begin notes that the data directory is being restored, and clears away what a former
// attempt has left.
func (r *restoring) begin() error {
	r.owners = os.Geteuid() == 0
	r.mark = state.RestoredDoc{ID: uuid.NewString(), Taken: r.info.Taken, Rev: r.info.Revision}
	if r.StoreOnly {
		return errors.Trace(r.beginStore())
	}
	if err := r.disk.MkdirAll(r.Dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	if err := r.disk.Chmod(r.Dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	if b, err := os.ReadFile(r.at(unfinished)); err == nil {
		var was state.RestoredDoc
		if json.Unmarshal(b, &was) == nil && was.ID != "" && was.Rev == r.mark.Rev && was.Taken.Equal(r.mark.Taken) {
			r.mark.ID = was.ID
		}
	}
	b, err := json.Marshal(r.mark)
	if err != nil {
		return errors.Trace(err)
	}
	if err := r.disk.ReplaceFile(r.at(unfinished), append(b, '\n'), 0o600); err != nil {
		return errors.Trace(err)
	}
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return errors.Trace(err)
	}
	for _, e := range entries {
		if e.Name() == unfinished {
			continue
		}
		if err := r.disk.RemoveAll(r.at(e.Name())); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(r.disk.SyncDir(r.Dir))
}

// all fills the store and the data directory. What others see of the store comes last, and
// then that the data directory is whole.
func (r *restoring) all() error {
	if err := r.disk.Mkdir(r.at(staging), 0o700); err != nil {
		return errors.Trace(err)
	}
	c, closeStore, err := r.Open(r.at(staging))
	if err != nil {
		return errors.Trace(err)
	}
	defer func() {
		if closeStore != nil {
			_ = closeStore() // the error that matters is there
		}
	}()
	store, err := c.Restore(r.ctx, r.mark)
	if errors.Is(err, state.ErrNotEmpty) {
		return stderrors.Join(err, r.undo())
	}
	if err != nil {
		return errors.Trace(err)
	}
	if err := r.stage(store); err != nil {
		return errors.Trace(err)
	}
	if r.Inside {
		err := store.Finish()
		if err = first(err, closeStore()); err != nil {
			return errors.Trace(err)
		}
		closeStore = nil
	}
	if err := r.place(); err != nil {
		return errors.Trace(err)
	}
	if !r.Inside {
		if err := store.Finish(); err != nil {
			return errors.Trace(err)
		}
	}
	if r.StoreOnly {
		return nil
	}
	return errors.Trace(stderrors.Join(r.disk.Remove(r.at(unfinished)), r.disk.SyncDir(r.Dir)))
}

// undo leaves nothing of a restoration that was refused.
func (r *restoring) undo() error {
	if r.StoreOnly {
		return errors.Trace(r.endStore())
	}
	return stderrors.Join(r.disk.RemoveAll(r.at(staging)), r.disk.Remove(r.at(unfinished)))
}

// stage reads the backup into the store and the staging directory.
func (r *restoring) stage(store *state.Restoration) error {
	known := map[string]string{}
	_, err := readFile(r.path, r.with, sink{
		info: func(now Info) error {
			if !now.Taken.Equal(r.info.Taken) || now.Revision != r.info.Revision {
				return errors.New("it is another file now")
			}
			for _, m := range now.Models {
				known[m.UUID] = r.mark.ID
			}
			return nil
		},
		store: func(lines io.Reader) error {
			if store.Done() {
				return nil
			}
			return store.Read(lines)
		},
		file: r.file,
		void: func(paths []string) error { r.void = paths; return nil },
	})
	if err != nil {
		return errors.Trace(err)
	}
	for _, name := range r.void {
		if err := r.disk.RemoveAll(r.at(staging, name)); err != nil {
			return errors.Trace(err)
		}
	}
	if !r.StoreOnly {
		if err := writeKnown(r.disk, r.at(staging), known); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(r.disk.SyncTree(r.at(staging)))
}

// file makes one of the data directory's files, in the staging directory.
func (r *restoring) file(h *tar.Header, name string, content io.Reader) error {
	if r.StoreOnly {
		if name == KeyFile {
			return r.addKeys(content)
		}
		return nil
	}
	path := r.at(staging, name)
	mode := fs.FileMode(h.Mode & 0o777)
	for bit, is := range map[int64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if h.Mode&bit != 0 {
			mode |= is
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := r.disk.Mkdir(path, 0o700); err != nil {
			return errors.Trace(err)
		}
	case tar.TypeSymlink:
		if err := r.disk.Symlink(h.Linkname, path); err != nil {
			return errors.Trace(err)
		}
	default:
		if err := r.write(path, content); err != nil {
			return errors.Trace(err)
		}
	}
	if r.owners {
		if err := r.disk.Lchown(path, h.Uid, h.Gid); err != nil {
			return errors.Trace(err)
		}
	}
	if h.Typeflag == tar.TypeSymlink {
		return nil
	}
	if h.Typeflag == tar.TypeDir && !r.owners {
		mode |= 0o700 // for what is to be in it
	}
	return errors.Trace(r.disk.Chmod(path, mode))
}

func (r *restoring) write(path string, content io.Reader) error {
	f, err := r.disk.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Trace(err)
	}
	_, err = io.CopyBuffer(f, struct{ io.Reader }{content}, make([]byte, 256<<10))
	return errors.Trace(first(err, f.Close()))
}

// place moves what was staged to where it belongs.
func (r *restoring) place() error {
	if r.StoreOnly {
		return errors.Trace(r.placeStore())
	}
	entries, err := os.ReadDir(r.at(staging))
	if err != nil {
		return errors.Trace(err)
	}
	// What the engine has beside its file it makes anew.
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), r.StoreFile+"-")
	})
	for _, e := range entries {
		if err := r.disk.Rename(r.at(staging, e.Name()), r.at(e.Name())); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(stderrors.Join(r.disk.RemoveAll(r.at(staging)), r.disk.SyncDir(r.Dir)))
}

// readKnown reads which restorations a data directory knows of, by models.
func readKnown(dir string) (map[string]string, error) {
	known := map[string]string{}
	path := filepath.Join(dir, knownName)
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return known, nil
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot tell of which backup the data directory is")
	}
	return known, errors.Annotatef(json.Unmarshal(b, &known), "cannot read %s", path)
}

func writeKnown(disk durable.Disk, dir string, known map[string]string) error {
	b, err := json.Marshal(known)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(disk.ReplaceFile(filepath.Join(dir, knownName), append(b, '\n'), 0o600))
}
