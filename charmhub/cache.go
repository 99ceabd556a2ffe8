package charmhub

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// Cache is a directory with what was fetched from hubs, by its hash, and with their last
// answers. Several processes may use it at once. What one of them uses stays until it
// lets go.
//
// Source: docs/spec/juju-clients.md §12.8.
type Cache struct {
	// Dir is made when something is kept.
	Dir string

	held []*os.File
}

// The folders of a cache.
const (
	filesDir   = "files"
	answersDir = "answers"
)

// resourceKind is that of a resource; those of charms and bundles are their types.
const resourceKind = "resource"

// Kept is a file of a cache.
type Kept struct {
	// Key is the kind of its hash and the hash: "sha256-…".
	Key string `json:"key"`
	// Kind is TypeCharm, TypeBundle or "resource", of the charm Name.
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Resource string `json:"resource,omitempty"`
	Revision int    `json:"revision"`
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"`
	// Used is when it was used last; Held: a process uses it.
	Used time.Time `json:"-"`
	Held bool      `json:"-"`
}

// Title is what people call it.
func (k Kept) Title() string {
	if k.Kind == resourceKind {
		return k.Name + ":" + k.Resource
	}
	return k.Name
}

var hexadecimal = pattern.New(`^[0-9a-f]+$`)

// check is NotValid for a download that couldn't be verified.
func (d Download) check() error {
	switch {
	case !strings.HasPrefix(d.URL, "https://") && !strings.HasPrefix(d.URL, "http://") && !strings.HasPrefix(d.URL, "file://"):
		return notValid("the answer's download URL is %q", d.URL)
	case d.Size < 0:
		return notValid("the answer's download has %d bytes", d.Size)
	case d.SHA256 == "" && d.SHA384 == "":
		return notValid("the answer's download has no hash")
	case d.SHA256 != "" && (len(d.SHA256) != 64 || !hexadecimal.MatchString(d.SHA256)):
		return notValid("the answer's download has the hash %q", d.SHA256)
	case d.SHA384 != "" && (len(d.SHA384) != 96 || !hexadecimal.MatchString(d.SHA384)):
		return notValid("the answer's download has the hash %q", d.SHA384)
	}
	return nil
}

// check is NotValid for a resource that couldn't be had.
func (r Resource) check() error {
	if r.Name == "" || r.Name[0] == '.' || strings.ContainsAny(r.Name, "/\\\x00") || r.Revision < 0 || strings.ContainsAny(r.Filename, "/\x00") {
		return notValid("the answer has a resource %q, file %q, revision %d", r.Name, r.Filename, r.Revision)
	}
	return errors.Annotatef(r.Download.check(), "resource %q", r.Name)
}

// key is the name of what is downloaded in the cache. Charms and bundles are told by
// their SHA-256, resources by their SHA-384.
// Source: docs/spec/juju-clients.md §12.3, step 6.
func (d Download) key(kind string) string {
	if d.SHA256 == "" || kind == resourceKind && d.SHA384 != "" {
		return "sha384-" + d.SHA384
	}
	return "sha256-" + d.SHA256
}

// hashes are those that a download is verified by.
type hashes struct{ sha256, sha384 hash.Hash }

func newHashes() hashes { return hashes{sha256.New(), sha512.New384()} }

func (h hashes) writer() io.Writer { return io.MultiWriter(h.sha256, h.sha384) }

// fit says whether content is that of a download; what is empty isn't asked.
func (h hashes) fit(d Download) bool {
	return (d.SHA256 == "" || d.SHA256 == h.sum()) && (d.SHA384 == "" || d.SHA384 == hex.EncodeToString(h.sha384.Sum(nil)))
}

// key is what the key of that download would be, if it had this content.
func (h hashes) key(d Download, kind string) string {
	if d.SHA256 != "" {
		d.SHA256 = h.sum()
	}
	if d.SHA384 != "" {
		d.SHA384 = hex.EncodeToString(h.sha384.Sum(nil))
	}
	return d.key(kind)
}

func (h hashes) sum() string { return hex.EncodeToString(h.sha256.Sum(nil)) }

func (c *Cache) file(key string) string { return filepath.Join(c.Dir, filesDir, key) }

// Has says whether there is a file with that key.
func (c *Cache) Has(key string) bool {
	_, err := os.Stat(c.file(key))
	return err == nil
}

// use is the path of what was downloaded before, which stays there until LetGo; empty: it
// isn't there, or isn't any more what it was.
func (c *Cache) use(d Download, kind string) string {
	path := c.file(d.key(kind))
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	keep := false
	defer func() {
		if !keep {
			f.Close()
		}
	}()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		return ""
	}
	if here, err := f.Stat(); err != nil || !isAt(path, here) {
		return "" // it was removed meanwhile
	}
	h := newHashes()
	if _, err := io.Copy(h.writer(), f); err != nil || !h.fit(d) {
		if err == nil && d.key(kind) != h.key(d, kind) {
			os.Remove(path) // it isn't what its name says; else the answer is wrong
		}
		return ""
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // it may be somebody else's
	c.held, keep = append(c.held, f), true
	return path
}

func isAt(path string, is os.FileInfo) bool {
	there, err := os.Stat(path)
	return err == nil && os.SameFile(there, is)
}

// LetGo lets go of what was used.
func (c *Cache) LetGo() {
	for _, f := range c.held {
		f.Close()
	}
	c.held = nil
}

// put has content there that was written to a file of the cache's directory.
func (c *Cache) put(f *os.File, k Kept) error {
	if err := f.Sync(); err != nil {
		return errors.Trace(err)
	}
	note, err := json.Marshal(k)
	if err == nil {
		err = c.write(c.file(k.Key)+".json", note)
	}
	if err == nil {
		err = os.Rename(f.Name(), c.file(k.Key))
	}
	return errors.Annotate(err, "cannot keep what was downloaded")
}

// temp is a new file in the cache's directory, which whoever has made it removes.
func (c *Cache) temp(folder string) (*os.File, error) {
	dir := filepath.Join(c.Dir, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, errors.Annotate(err, "cannot make the cache of charms")
	}
	f, err := os.CreateTemp(dir, ".part-*")
	return f, errors.Annotate(err, "cannot write to the cache of charms")
}

// write has a small file there, whole or not at all.
func (c *Cache) write(path string, b []byte) error {
	f, err := c.temp(filepath.Base(filepath.Dir(path)))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return errors.Trace(err)
}

// kept is an answer with what it was an answer to.
type kept struct {
	To      string  `json:"to"`
	Release Release `json:"release"`
}

func (c *Cache) answerPath(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.Dir, answersDir, hex.EncodeToString(sum[:])+".json")
}

// answer is the last answer to what has that key.
func (c *Cache) answer(key string) (Release, bool) {
	b, err := os.ReadFile(c.answerPath(key))
	if err != nil {
		return Release{}, false
	}
	var k kept
	if err := json.Unmarshal(b, &k); err != nil || k.To != key {
		return Release{}, false
	}
	return k.Release, true
}

func (c *Cache) keepAnswer(key string, r Release) error {
	b, err := json.Marshal(kept{key, r})
	if err == nil {
		err = c.write(c.answerPath(key), b)
	}
	return errors.Annotate(err, "cannot keep the answer of Charmhub")
}

// List has all files of the cache, by their keys.
func (c *Cache) List() ([]Kept, error) {
	entries, err := os.ReadDir(filepath.Join(c.Dir, filesDir))
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Annotate(err, "cannot list the cache of charms")
	}
	var out []Kept
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "sha") || strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		st, err := e.Info()
		if err != nil {
			continue // it was removed meanwhile
		}
		k := Kept{Name: "-"}
		if b, err := os.ReadFile(c.file(e.Name()) + ".json"); err == nil {
			_ = json.Unmarshal(b, &k) // what a crash has left says nothing
		}
		k.Key, k.Size, k.Used = e.Name(), st.Size(), st.ModTime()
		k.Held = c.isHeld(e.Name())
		out = append(out, k)
	}
	return out, nil
}

func (c *Cache) isHeld(key string) bool {
	f, err := os.Open(c.file(key))
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// Holds says whether this Cache, not another process, uses a file.
func (c *Cache) Holds(key string) bool {
	return slices.ContainsFunc(c.held, func(f *os.File) bool { return filepath.Base(f.Name()) == key })
}

// Remove removes a file that no process uses and that wasn't used since a time.
func (c *Cache) Remove(key string, since time.Time) (bool, error) {
	f, err := os.Open(c.file(key))
	if err != nil {
		return false, nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.ModTime().Before(since) || syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false, nil
	}
	if err := os.Remove(c.file(key)); err != nil {
		return false, errors.Annotate(err, "cannot clear the cache of charms")
	}
	return true, errors.Trace(removed(os.Remove(c.file(key) + ".json")))
}

func removed(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// partAge is how old a part of a download is that nobody goes on with.
const partAge = 24 * time.Hour

// Sweep removes the answers and notes whose files aren't there any more, and what
// processes have left that were killed.
func (c *Cache) Sweep(now time.Time) error {
	for _, folder := range []string{filesDir, answersDir} {
		entries, err := os.ReadDir(filepath.Join(c.Dir, folder))
		if err != nil && !os.IsNotExist(err) {
			return errors.Annotate(err, "cannot clear the cache of charms")
		}
		for _, e := range entries {
			path := filepath.Join(c.Dir, folder, e.Name())
			if !c.stale(folder, path, now) {
				continue
			}
			if err := removed(os.Remove(path)); err != nil {
				return errors.Annotate(err, "cannot clear the cache of charms")
			}
		}
	}
	return nil
}

// stale says whether a file of a folder of the cache is to go.
func (c *Cache) stale(folder, path string, now time.Time) bool {
	name := filepath.Base(path)
	note, noted := strings.CutSuffix(name, ".json")
	old := func() bool {
		st, err := os.Stat(path)
		return err == nil && now.Sub(st.ModTime()) > partAge
	}
	switch {
	case strings.HasPrefix(name, ".part-"):
		return old()
	case folder != answersDir: // a note is written before its file has its name
		return noted && !c.Has(note) && old()
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var k kept
	if json.Unmarshal(b, &k) != nil {
		return true
	}
	r := k.Release
	if r.Type == "" && len(r.Resources) == 1 {
		return !c.Has(r.Resources[0].Download.key(resourceKind))
	}
	return !c.Has(r.Download.key(r.Type))
}
