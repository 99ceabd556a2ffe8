package backup

import (
	"bytes"
	"encoding/json"
	stderrors "errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// unfinishedStore is there as long as the store alone is being restored into a data directory.
// Unlike unfinished, it doesn't say that what is there can be cleared away.
const unfinishedStore = "restoring-store"

// UnfinishedStore says whether the store alone is being restored into a data directory, or was
// and that isn't done: nobody may make another one there.
func UnfinishedStore(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, unfinishedStore))
	return err == nil
}

// noStore refuses a data directory that has a store, or what an engine has beside its file.
func (r *restoring) noStore() error {
	if !r.Inside || r.placed() {
		return nil
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if _, err := os.Lstat(r.at(r.StoreFile + suffix)); err == nil {
			return errors.WithType(errors.Errorf("%s is there already: move it away first", r.at(r.StoreFile+suffix)), ErrNotEmpty)
		}
	}
	return nil
}

// placed says whether one that was killed had put the store in its place.
func (r *restoring) placed() bool {
	staged, err := os.Lstat(r.at(staging, r.StoreFile))
	there, thereErr := os.Lstat(r.at(r.StoreFile))
	return err == nil && thereErr == nil && UnfinishedStore(r.Dir) && os.SameFile(staged, there)
}

// endPlaced ends one that was killed once the store was in its place, if it was of the same backup.
func (r *restoring) endPlaced() error {
	var was state.RestoredDoc
	b, err := os.ReadFile(r.at(unfinishedStore))
	if err == nil {
		err = json.Unmarshal(b, &was)
	}
	if err != nil {
		return errors.Trace(err)
	}
	if was.Rev != r.info.Revision || !was.Taken.Equal(r.info.Taken) {
		return errors.WithType(errors.Errorf("%s was restored from another backup: move it away first", r.at(r.StoreFile)), ErrNotEmpty)
	}
	return errors.Trace(r.endStore())
}

// beginStore is begin for the store alone.
func (r *restoring) beginStore() error {
	mark, err := json.Marshal(r.mark)
	if err == nil {
		err = r.disk.MkdirAll(r.Dir, 0o700)
	}
	if err == nil && r.Inside {
		// The lock keeps agents away, and this all others.
		err = first(r.disk.ReplaceFile(r.at(unfinishedStore), mark, 0o600), r.disk.SyncDir(r.Dir))
	}
	return errors.Trace(first(err, r.disk.RemoveAll(r.at(staging))))
}

// placeStore puts the store's file into a data directory. A command that had begun before may
// have made another store there, which stays as it is.
func (r *restoring) placeStore() error {
	if !r.Inside {
		return errors.Trace(r.disk.RemoveAll(r.at(staging)))
	}
	err := r.noStore()
	if err == nil {
		err = r.disk.Link(r.at(staging, r.StoreFile), r.at(r.StoreFile))
	}
	if errors.Is(err, fs.ErrExist) {
		err = errors.WithType(errors.Errorf("%s was made meanwhile: move it away first", r.at(r.StoreFile)), ErrNotEmpty)
	}
	if errors.Is(err, ErrNotEmpty) {
		return stderrors.Join(err, r.endStore())
	}
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(first(r.disk.SyncDir(r.Dir), r.endStore()))
}

// endStore says that the store isn't being restored any more, and clears away what was staged.
func (r *restoring) endStore() error {
	var err error
	if r.Inside {
		err = first(r.disk.Remove(r.at(unfinishedStore)), r.disk.SyncDir(r.Dir))
	}
	return errors.Trace(first(err, r.disk.RemoveAll(r.at(staging)), r.disk.SyncDir(r.Dir)))
}

// addKeys has the data directory have the keys of a backup too, after its own.
func (r *restoring) addKeys(content io.Reader) error {
	b, err := io.ReadAll(content)
	if err != nil {
		return errors.Trace(err)
	}
	own, err := os.ReadFile(r.at(KeyFile))
	if err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	keys := withKeys(own, b)
	if bytes.Equal(keys, own) {
		return nil
	}
	return errors.Trace(r.disk.ReplaceFile(r.at(KeyFile), keys, 0o600))
}
