package agent

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/served"
	"github.com/unitd/unitd/state/store/sqlite"
)

const (
	// storeVariable names the store where --store doesn't.
	storeVariable = "UNITD_STORE"
	// StoreFile is SQLite's, in the data directory.
	StoreFile = "store.db"
	// LocalStore is what --store says for it.
	LocalStore = "sqlite"
	// agentStoreFile says in the data directory which store its agent works on.
	agentStoreFile = "agent.store"
)

// StoreName says which store this command works on: the URL of one in etcd, as
// etcd.Options.URL writes it, served.Scheme and the path of the socket at which an
// agent serves its own, the path of SQLite's file in another data directory, or
// LocalStore. Where the agent has joined as a machine it is the
// store that it has joined.
func (h *Host) StoreName() (string, error) {
	if _, inLab, err := LabTime(); err != nil || inLab {
		return LocalStore, err // worlds of tests are private
	}
	joined, err := joinedStore()
	if err != nil {
		return "", err
	}
	return storeName(cmp.Or(h.StoreFlag, joined, os.Getenv(storeVariable), LocalStore))
}

// storeName is what StoreName says for a store that a person calls so.
func storeName(name string) (string, error) {
	if name == LocalStore {
		return name, nil
	}
	if path, ok := strings.CutPrefix(name, "sqlite:"); ok || strings.ContainsAny(name[:1], "./") {
		return storePath(path)
	}
	if strings.HasPrefix(name, served.Scheme) {
		path, err := served.Path(name)
		if err != nil {
			return "", Wrongf("%v", err)
		}
		return served.Scheme + path, nil
	}
	o, err := etcdOptions(name)
	if err != nil {
		return "", err
	}
	return o.URL(), nil
}

func etcdOptions(name string) (etcd.Options, error) {
	if !strings.HasPrefix(name, etcd.Scheme) {
		return etcd.Options{}, Wrongf("%q is not a store: name one like etcd://host:2379/prefix, agent:/path/to/store.socket, /path/to/store.db, or %q", name, LocalStore)
	}
	o, err := etcd.ParseURL(name, os.Getenv)
	if errors.Is(err, errors.NotValid) {
		return o, Wrongf("%s", err)
	}
	if err != nil {
		return o, errors.Trace(err)
	}
	for _, path := range o.SecretFiles() {
		if err := checkSecret(path); err != nil {
			return o, err
		}
	}
	return o, nil
}

// storePath is the path of SQLite's file by what a person calls it: it, or the
// data directory that it is in.
func storePath(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", errors.Annotate(err, "--store")
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, StoreFile)
		_, err = os.Stat(path)
	}
	if os.IsNotExist(err) {
		return "", errors.NewNotFound(nil, "there is no store at "+path)
	}
	return path, errors.Annotate(err, "--store")
}

// onEtcd says whether the store is one in etcd, which is on no host's disk.
func (h *Host) onEtcd() (bool, error) {
	name, err := h.StoreName()
	return err == nil && strings.HasPrefix(name, etcd.Scheme), err
}

// StoreIsServed says whether the store is one that an agent serves, whose file others have. What
// is wrong with a store's name is said by who opens it.
func (h *Host) StoreIsServed() bool {
	name, err := h.StoreName()
	return err == nil && strings.HasPrefix(name, served.Scheme)
}

// OfHost says whether a store, by its name, is in a file that this command opens itself, and so
// of this host: the one of an agent that serves it is its user's.
func OfHost(name string) bool {
	return !strings.HasPrefix(name, etcd.Scheme) && !strings.HasPrefix(name, served.Scheme)
}

// OpenStore opens the store that the command names, else the one in the data
// directory, and says which directory has the key of its secrets. CloseStore closes
// it.
func (h *Host) OpenStore(dir string, c clock.Clock) (s store.Store, keys string, err error) {
	if s, keys, err = h.findStore(dir, c); err == nil {
		h.store = s
	}
	return s, keys, err
}

func (h *Host) findStore(dir string, c clock.Clock) (s store.Store, keys string, err error) {
	if _, inLab, err := LabTime(); err != nil || inLab { // worlds of tests are private
		if err == nil {
			s, err = lab.OpenStore(h.ctx, dir, os.Getenv(lab.StoreVariable), c)
		}
		return s, dir, err
	}
	name, err := h.StoreName()
	if err != nil {
		return nil, "", err
	}
	if keys = dir; OfHost(name) {
		if name == LocalStore {
			name = filepath.Join(dir, StoreFile)
		} else if err := CheckPrivate(filepath.Dir(name)); err != nil {
			return nil, "", err
		}
		keys = filepath.Dir(name)
	}
	s, err = h.openNamed(h.ctx, name, c, h.former.found)
	return s, keys, err
}

// openNamed opens a store by its name, which isn't LocalStore; found says what is to be done about
// agents of a former format that work on it, if there are any.
func (h *Host) openNamed(ctx context.Context, name string, c clock.Clock, found func(error) error) (store.Store, error) {
	switch path, isServed := strings.CutPrefix(name, served.Scheme); {
	case strings.HasPrefix(name, etcd.Scheme):
		o, err := etcdOptions(name)
		if err != nil {
			return nil, err
		}
		o.Log, o.Former = h.ownLog(), func(r store.Reader) error { return found(state.FormerAgents(r)) }
		s, err := etcd.Open(ctx, o)
		return s, errors.Trace(err)
	case isServed:
		s, err := served.Open(ctx, served.Options{Path: path, Format: storeFormat, Log: h.ownLog()})
		return s, errors.Trace(err)
	}
	s, err := sqlite.Open(name, sqlite.Options{Log: h.ownLog(), Clock: c, Former: func(r store.Reader) error { return found(formerAgents(filepath.Dir(name), r)) }})
	return s, errors.Trace(err)
}

// formerAgent is the error for a store of a former format that an agent works
// on, one of an earlier program: it would go on by its own measure of time, and
// lose what it leads.
func formerAgent(dir string) error {
	pid, err := holder(filepath.Join(dir, "agent.lock"))
	if err != nil || pid == 0 || pid == os.Getpid() {
		return errors.Trace(err)
	}
	return errors.Errorf(`an agent of an earlier unitd (process %d) works on it: "unitd shutdown" ends that one; then this unitd takes the store over, and earlier ones refuse it`, pid)
}

// formerAgents is formerAgent, also for agents that have joined, whose data directories are others.
// What is there of this one's own agent counts only while another process is that: its machine
// is there for a while after it has ended, and as it becomes another program.
func formerAgents(dir string, r store.Reader) error {
	if err := formerAgent(dir); err != nil {
		return errors.Trace(err)
	}
	own, err := DataDirPath()
	if err != nil {
		return errors.Trace(err)
	}
	joined, err := ReadJoin(own)
	if err != nil {
		return errors.Trace(err)
	}
	pid, err := holder(filepath.Join(own, "agent.lock"))
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(state.FormerMachines(r, func(uuid, machine string) bool {
		return joined != nil && joined.Model == uuid && joined.Machine == machine && (pid == 0 || pid == os.Getpid())
	}))
}

// HasStore says whether there is a store to look into that needn't be made.
func (h *Host) HasStore(dir string) bool {
	name, err := h.StoreName()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, StoreFile))
	return name != LocalStore || err == nil
}

// RememberStore notes which store the agent of the data directory works on.
func (h *Host) RememberStore(dir string) error {
	name, err := h.StoreName()
	if err != nil {
		return err
	}
	// Whole, as commands read it that know of the agent by its lock.
	err = durable.Disk{}.ReplaceFile(filepath.Join(dir, agentStoreFile), []byte(name+"\n"), 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot note which store the agent works on")
	}
	if err := rememberPebble(dir); err != nil {
		return err
	}
	return rememberPath(dir, machine.LocalHost().Path)
}

// meant is the error of a command that names no store where another process is the
// agent of the data directory, and works on another store: nobody has meant the
// one that is here.
func (h *Host) meant(dir string) error {
	if h.StoreFlag != "" || os.Getenv(storeVariable) != "" {
		return nil
	}
	if _, inLab, err := LabTime(); err != nil || inLab {
		return err
	}
	pid, err := Running()
	if err != nil || pid == 0 || pid == os.Getpid() {
		return err
	}
	return h.SameStore(dir)
}

// StorePlace is where a store is, by its name, without who asks for it.
func StorePlace(name string) string {
	place, _, _ := strings.Cut(name, "?")
	return place
}

// SameStore is the error of a command whose store isn't that of the agent that
// runs: nobody would do what it asks for.
func (h *Host) SameStore(dir string) error {
	name, err := h.StoreName()
	if err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(dir, agentStoreFile))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return errors.Annotate(err, "cannot tell which store the agent works on")
	}
	if has := StorePlace(strings.TrimSpace(string(b))); has != StorePlace(name) {
		return errors.Errorf("the agent of %s works on the store %s, not on %s: name that one, or another data directory (UNITD_DATA)", dir, has, StorePlace(name))
	}
	return nil
}

// CheckEngine is the error of an open store whose engine finds that its file is
// damaged; thorough: however long it takes.
func (h *Host) CheckEngine(thorough bool) error {
	s, ok := h.store.(interface {
		Check(ctx context.Context, thorough bool) error
	})
	if !ok {
		return nil // etcd verifies what it reads itself
	}
	return errors.Trace(s.Check(h.ctx, thorough))
}

// Look opens the store of another controller for a moment; nil: it has none yet.
func (h *Host) Look(r Registered, do func(*state.Controller) error) error {
	path := filepath.Join(r.Dir, StoreFile)
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return do(nil)
	}
	db, err := sqlite.Open(path, sqlite.Options{Log: h.ownLog(), Clock: clock.WallClock, Former: func(s store.Reader) error { return formerAgents(r.Dir, s) }})
	if err != nil {
		return errors.Annotatef(err, "controller %s", r.Name)
	}
	defer db.Close()
	return do(state.NewController(db, clock.WallClock).WithName(r.Name))
}
