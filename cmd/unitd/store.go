package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/sqlite"
)

const (
	// storeVariable names the store where --store doesn't.
	storeVariable = "UNITD_STORE"
	// storeFile is SQLite's, in the data directory.
	storeFile = "store.db"
	// localStore is what --store says for it.
	localStore = "sqlite"
	// agentStoreFile says in the data directory which store its agent works on.
	agentStoreFile = "agent.store"
)

// storeName says which store this command works on: the URL of one in etcd, as
// etcd.Options.URL writes it, the path of SQLite's file in another data
// directory, or localStore. Where the agent has joined as a machine it is the
// store that it has joined.
func (a *app) storeName() (string, error) {
	if _, inLab, err := labTime(); err != nil || inLab {
		return localStore, err // worlds of tests are private
	}
	joined, err := joinedStore()
	if err != nil {
		return "", err
	}
	name := cmp.Or(a.storeFlag, joined, os.Getenv(storeVariable), localStore)
	if name == localStore {
		return name, nil
	}
	if path, ok := strings.CutPrefix(name, "sqlite:"); ok || strings.ContainsAny(name[:1], "./") {
		return storePath(path)
	}
	o, err := etcdOptions(name)
	if err != nil {
		return "", err
	}
	return o.URL(), nil
}

func etcdOptions(name string) (etcd.Options, error) {
	if !strings.HasPrefix(name, etcd.Scheme) {
		return etcd.Options{}, usagef("%q is not a store: name one like etcd://host:2379/prefix, /path/to/store.db, or %q", name, localStore)
	}
	o, err := etcd.ParseURL(name, os.Getenv)
	if errors.Is(err, errors.NotValid) {
		return o, usagef("%s", err)
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
		path = filepath.Join(path, storeFile)
		_, err = os.Stat(path)
	}
	if os.IsNotExist(err) {
		return "", errors.NewNotFound(nil, "there is no store at "+path)
	}
	return path, errors.Annotate(err, "--store")
}

// openStore opens the store that the command names, else the one in the data
// directory, and says which directory has the key of its secrets.
func (a *app) openStore(dir string, c clock.Clock) (s store.Store, keys string, err error) {
	if _, inLab, err := labTime(); err != nil || inLab { // worlds of tests are private
		if err == nil {
			s, err = lab.OpenStore(a.ctx, dir, os.Getenv(lab.StoreVariable), c)
		}
		return s, dir, err
	}
	name, err := a.storeName()
	if err != nil {
		return nil, "", err
	}
	if strings.HasPrefix(name, etcd.Scheme) {
		o, err := etcdOptions(name)
		if err != nil {
			return nil, "", err
		}
		o.Log = newLog(a.stderr)
		s, err := etcd.Open(a.ctx, o)
		if err != nil {
			return nil, "", errors.Trace(err)
		}
		return s, dir, nil
	}
	path := filepath.Join(dir, storeFile)
	if name != localStore {
		path = name
		if err := checkPrivate(filepath.Dir(path)); err != nil {
			return nil, "", err
		}
	}
	db, err := sqlite.Open(path, sqlite.Options{Log: newLog(a.stderr), Clock: c, Former: func() error { return formerAgent(filepath.Dir(path)) }})
	if err != nil {
		return nil, "", errors.Trace(err)
	}
	return db, filepath.Dir(path), nil
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

// hasStore says whether there is a store to look into that needn't be made.
func (a *app) hasStore(dir string) bool {
	name, err := a.storeName()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, storeFile))
	return name != localStore || err == nil
}

// rememberStore notes which store the agent of the data directory works on.
func (a *app) rememberStore(dir string) error {
	name, err := a.storeName()
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
func (a *app) meant(dir string) error {
	if a.storeFlag != "" || os.Getenv(storeVariable) != "" {
		return nil
	}
	if _, inLab, err := labTime(); err != nil || inLab {
		return err
	}
	pid, err := runningAgent()
	if err != nil || pid == 0 || pid == os.Getpid() {
		return err
	}
	return a.sameStore(dir)
}

// storePlace is where a store is, by its name, without who asks for it.
func storePlace(name string) string {
	place, _, _ := strings.Cut(name, "?")
	return place
}

// sameStore is the error of a command whose store isn't that of the agent that
// runs: nobody would do what it asks for.
func (a *app) sameStore(dir string) error {
	name, err := a.storeName()
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
	if has := storePlace(strings.TrimSpace(string(b))); has != storePlace(name) {
		return errors.Errorf("the agent of %s works on the store %s, not on %s: name that one, or another data directory (UNITD_DATA)", dir, has, storePlace(name))
	}
	return nil
}

// privateFiles are those of the data directory that nobody else may read or
// write.
var privateFiles = []string{storeFile, storeFile + "-wal", storeFile + "-shm", storeFile + "-rev", "secret.key", "agent.lock", "agent.id", agentStoreFile}

// checkPrivate is the error of a data directory, or of a file in it, that isn't
// for its owner alone: its secrets are then no secrets, and whoever may write
// decides what is run here.
func checkPrivate(dir string) error {
	for _, name := range append([]string{""}, privateFiles...) {
		if err := checkSecret(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// checkSecret is the error of a file or directory that others have a part in.
// What isn't there is nobody's.
func checkSecret(path string) error {
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return errors.Annotate(err, "cannot see whether it is private")
	}
	why := public(info)
	if why == "" {
		return nil
	}
	mode := 0o600
	if info.IsDir() {
		mode = 0o700
	}
	return errors.Errorf("%s %s, and has secrets: \"chmod %o %s\" as its owner", path, why, mode, path)
}

// public is what is wrong with a file that isn't private.
func public(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() != 0 && int(s.Uid) != os.Geteuid() {
		return "belongs to another user"
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Sprintf("is open to others (%v)", info.Mode())
	}
	return ""
}
