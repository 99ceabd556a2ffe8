package charmbuild

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"
)

// Use says that a charm was made with packages of the cache, and whose models may have
// it. It is noted beside the packages, as the cache is all data directories'.
type Use struct {
	// Data is the data directory, and Store the store that it works on.
	Data  string `json:"data"`
	Store string `json:"store"`
	// Charm is the hash of the charm's archive.
	Charm string `json:"charm"`
}

// Kept are packages that a cache has, under one key.
type Kept struct {
	Key string
	// Charm is the name of the one that they were used for last.
	Charm string
	// Size is in bytes, and Used when a charm was made with them last.
	Size int64
	Used time.Time
	Uses []Use
	// Held says that a process is about to use them.
	Held bool
}

// notes is what the cache knows of packages: the file KEY.uses beside them. Its time is
// that of their last use.
type notes struct {
	Charm string `json:"charm"`
	Size  int64  `json:"size"`
	Uses  []Use  `json:"uses,omitempty"`
}

// The ends of what is beside the packages of a key.
const (
	usesEnd = ".uses"
	lockEnd = ".lock"
	logEnd  = ".log"
	newEnd  = ".new-" // with more after it
)

// Hold has packages stay in the cache, until it is released, or its process ends. That
// of nil holds nothing.
type Hold struct {
	lock  *os.File
	dir   string
	charm string
}

// Key is that of the packages; empty: none are held.
func (h *Hold) Key() string {
	if h == nil {
		return ""
	}
	return filepath.Base(h.dir)
}

// Release lets Remove have them.
func (h *Hold) Release() {
	if h != nil {
		h.lock.Close()
	}
}

// Use notes that a charm was made with the packages.
func (h *Hold) Use(ctx context.Context, u Use) error {
	if h == nil {
		return nil
	}
	return noted(ctx, h.dir, func(n *notes) {
		n.Charm = h.charm
		if !slices.Contains(n.Uses, u) {
			n.Uses = append(n.Uses, u)
		}
	})
}

// noted changes what is noted of the packages in dir, which one process does at a time.
func noted(ctx context.Context, dir string, change func(*notes)) error {
	lock, err := lockFile(ctx, dir+usesEnd+lockEnd, syscall.LOCK_EX, nil)
	if err != nil {
		return errors.Trace(err)
	}
	defer lock.Close()
	n := readNotes(dir)
	if n.Size == 0 {
		n.Size = sizeOf(dir)
	}
	change(&n)
	b, err := json.Marshal(n)
	if err != nil {
		return errors.Trace(err)
	}
	temp := dir + usesEnd + newEnd + "notes"
	if err := os.WriteFile(temp, b, 0o600); err != nil {
		return errors.Annotate(err, "cannot note who uses the cache")
	}
	return errors.Annotate(os.Rename(temp, dir+usesEnd), "cannot note who uses the cache")
}

// readNotes is what is noted; what can't be read is nothing.
func readNotes(dir string) notes {
	var n notes
	b, err := os.ReadFile(dir + usesEnd)
	if err != nil || json.Unmarshal(b, &n) != nil {
		return notes{}
	}
	return n
}

// sizeOf is what the files below dir have, in bytes.
func sizeOf(dir string) int64 {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it goes, and is counted no more
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

// List has all packages of the cache in dir, those first that were used last. There are
// none where there is no cache.
func List(dir string) ([]Kept, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Annotate(err, "cannot read the cache (UNITD_CACHE)")
	}
	var all []Kept
	for _, e := range entries {
		if !e.IsDir() || strings.Contains(e.Name(), ".") || e.Name() == toldDir {
			continue
		}
		if k, ok := see(filepath.Join(dir, e.Name())); ok {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b Kept) int {
		if c := b.Used.Compare(a.Used); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
	return all, nil
}

// see is what there is of the packages in dir; it isn't ok if there are none.
func see(dir string) (k Kept, ok bool) {
	st, err := os.Stat(dir)
	if err != nil {
		return k, false
	}
	n := readNotes(dir)
	k = Kept{Key: filepath.Base(dir), Charm: n.Charm, Size: n.Size, Used: st.ModTime(), Uses: n.Uses}
	if k.Size == 0 {
		k.Size = sizeOf(dir)
	}
	if st, err := os.Stat(dir + usesEnd); err == nil {
		k.Used = st.ModTime()
	}
	lock, err := tryLock(dir+lockEnd, syscall.LOCK_EX)
	if err == nil {
		lock.Close()
	}
	k.Held = errors.Is(err, errLocked)
	return k, true
}

// Remove removes packages, unless a process holds them, or unused says, of what is
// known of them once nobody can begin to use them, that they are used. It returns
// whether it has removed them. That nothing is there any more is no error.
func Remove(dir, key string, unused func(Kept) bool) (bool, error) {
	path := filepath.Join(dir, key)
	lock, err := tryLock(path+lockEnd, syscall.LOCK_EX)
	if errors.Is(err, errLocked) {
		return false, nil
	}
	if err != nil {
		return false, errors.Trace(err)
	}
	defer lock.Close()
	k, ok := see(path)
	if k.Held = false; ok && !unused(k) {
		return false, nil
	}
	gone := path + newEnd + "gone"
	if err := os.Rename(path, gone); err != nil && !os.IsNotExist(err) {
		return false, errors.Annotate(err, "cannot clear the cache")
	}
	// The lock goes last: whoever waits for it sees that it is another one by now.
	for _, left := range []string{gone, path + usesEnd, path + usesEnd + lockEnd, path + logEnd, path + lockEnd} {
		if err := os.RemoveAll(left); err != nil {
			return false, errors.Annotate(err, "cannot clear the cache")
		}
	}
	return ok, nil
}

// Forget has packages be noted as used by those alone of whom keep says so.
func Forget(ctx context.Context, dir, key string, keep func(Use) bool) error {
	path := filepath.Join(dir, key)
	st, err := os.Stat(path + usesEnd)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	err = noted(ctx, path, func(n *notes) { n.Uses = slices.DeleteFunc(n.Uses, func(u Use) bool { return !keep(u) }) })
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Chtimes(path+usesEnd, st.ModTime(), st.ModTime())) // this was no use
}

// Sweep removes what processes have left that were killed as they made packages, and
// what pip has said of those that it couldn't make.
func Sweep(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, "*"+lockEnd))
	if err != nil {
		return errors.Trace(err)
	}
	for _, lock := range left {
		key := strings.TrimSuffix(filepath.Base(lock), lockEnd)
		if strings.Contains(key, ".") || isDir(filepath.Join(dir, key)) {
			continue
		}
		if err := sweepKey(dir, key); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func sweepKey(dir, key string) error {
	path := filepath.Join(dir, key)
	lock, err := tryLock(path+lockEnd, syscall.LOCK_EX)
	if errors.Is(err, errLocked) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	defer lock.Close()
	if isDir(path) {
		return nil // it was made meanwhile
	}
	left, err := filepath.Glob(path + newEnd + "*")
	if err != nil {
		return errors.Trace(err)
	}
	for _, name := range append(left, path+usesEnd, path+usesEnd+lockEnd, path+logEnd, path+lockEnd) {
		if err := os.RemoveAll(name); err != nil {
			return errors.Annotate(err, "cannot clear the cache")
		}
	}
	return nil
}
