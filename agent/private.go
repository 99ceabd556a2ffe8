package agent

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/backup"
)

// privateFiles are those of the data directory that nobody else may read or
// write.
var privateFiles = []string{StoreFile, StoreFile + "-wal", StoreFile + "-shm", StoreFile + "-rev", "secret.key", agentKeyFile, "agent.lock", "agent.id", agentStoreFile, ClientCredentials}

// CheckPrivate is the error of a data directory, or of a file in it, that isn't
// for its owner alone: its secrets are then no secrets, and whoever may write
// decides what is run here. It is also that of one whose restoration from a backup isn't done.
func CheckPrivate(dir string) error {
	if backup.Unfinished(dir) {
		return errors.Errorf("%s is being restored from a backup, which hasn't ended well: run that \"unitd restore\" again", dir)
	}
	if backup.UnfinishedStore(dir) {
		return errors.Errorf("the store of %s is being restored from a backup, which hasn't ended well: run that \"unitd restore --store-only\" again", dir)
	}
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
