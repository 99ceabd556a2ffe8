package cli

import (
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"github.com/juju/clock"
	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/backup"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/sqlite"
	"github.com/unitd/unitd/terminal"
)

// passphraseVariable has the passphrase of backups.
const passphraseVariable = "UNITD_BACKUP_PASSPHRASE"

// passphrase is where a passphrase comes from.
type passphrase struct{ file string }

func (p *passphrase) declare(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.file, "passphrase-file", "", "read the passphrase from this file, instead of "+passphraseVariable+" or the terminal")
}

// read reads it; one that is new is asked for twice.
func (p passphrase) read(a base, fresh bool) (text string, err error) {
	switch {
	case p.file != "":
		if text, err = agent.ReadSecret(p.file); err != nil {
			return "", errors.Annotate(err, "cannot read the passphrase")
		}
	case os.Getenv(passphraseVariable) != "":
		text = os.Getenv(passphraseVariable)
	case terminal.Is(a.In):
		if text, err = ask(a, "Passphrase: "); err != nil {
			return "", err
		}
		if fresh {
			again, err := ask(a, "The same again: ")
			if err != nil {
				return "", err
			}
			if again != text {
				return "", errors.New("the passphrases differ: nothing was done")
			}
		}
	default:
		return "", Usagef("a backup is encrypted: give a passphrase with --passphrase-file or %s, or a key", passphraseVariable)
	}
	if text == "" {
		return "", errors.New("the passphrase is empty")
	}
	return text, nil
}

// ask asks for what the terminal doesn't show.
func ask(a base, what string) (string, error) {
	in, ok := a.In.(*os.File)
	if !ok {
		return "", errors.New("the passphrase can't be asked for here")
	}
	a.Note("%s", strings.TrimSpace(what))
	b, err := term.ReadPassword(int(in.Fd()))
	return string(b), errors.Annotate(err, "cannot read the passphrase")
}

func (a backupVerbs) restoreCmd() *cobra.Command {
	var (
		key              passphrase
		identity, format string
		check, storeOnly bool
	)
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory and a store of a backup",
		Long: `Make a data directory and a store from a file that "unitd backup" has written. The
store is in the data directory, or in etcd with --store. Both must be empty. The whole
file is verified before anything is written. If the command is interrupted, run it
again: until it has succeeded, agents and commands refuse the data directory.

Then start the agent. Units go on from where they were. Don't start the former agent
again: it would run the same units.

With --check, the command writes nothing. It says whether the file is whole, and what is
in it. With --store-only, it restores only the store: use this if the store is lost and
the data directory is still there. Units whose files are ahead of the store then go on
from what the store remembers. What the store doesn't have is set aside.`,
		Example: `  unitd restore nightly.backup --check --passphrase-file ~/backup.passphrase
  UNITD_DATA=/var/lib/unitd unitd restore nightly.backup --identity ~/key.txt
  unitd restore nightly.backup --store etcd://host:2379/unitd`,
		Args: Args(1, 1, "no file specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			with, err := a.identities(key, identity)
			if err != nil {
				return err
			}
			var info backup.Info
			if check {
				info, err = backup.Check(args[0], with)
			} else {
				info, err = a.restore(args[0], with, storeOnly)
			}
			if err != nil {
				return err
			}
			if format != "text" {
				return a.write(format, "", info)
			}
			a.tellRestored(args[0], info, check)
			return nil
		},
	}
	key.declare(cmd)
	cmd.Flags().StringVarP(&identity, "identity", "i", "", "read private keys of age from this file, for a backup that was encrypted for recipients")
	cmd.Flags().BoolVar(&check, "check", false, "only verify the file, and say what is in it")
	cmd.Flags().BoolVar(&storeOnly, "store-only", false, "restore the store alone, and leave the data directory as it is")
	cmd.Flags().StringVar(&format, "format", "text", "text, json or yaml")
	formats(cmd, "text", "json", "yaml")
	return cmd
}

// identities are what a backup is opened with.
func (a backupVerbs) identities(key passphrase, file string) ([]age.Identity, error) {
	if file != "" {
		text, err := agent.ReadSecret(file)
		if err != nil {
			return nil, errors.Annotate(err, "cannot read the key")
		}
		ids, err := age.ParseIdentities(strings.NewReader(text))
		if err != nil {
			return nil, errors.Errorf("%s has no keys of age: expected lines that begin with AGE-SECRET-KEY-1", file)
		}
		return ids, nil
	}
	text, err := key.read(a.base, false)
	if err != nil {
		return nil, err
	}
	id, err := age.NewScryptIdentity(text)
	return []age.Identity{id}, errors.Annotate(err, "cannot use the passphrase")
}

// restore restores into the data directory and the store that the command names.
func (a backupVerbs) restore(path string, with []age.Identity, storeOnly bool) (backup.Info, error) {
	dir, err := agent.DataDirPath()
	if err != nil {
		return backup.Info{}, err
	}
	name, err := a.StoreName()
	if err != nil {
		return backup.Info{}, err
	}
	inEtcd := strings.HasPrefix(name, etcd.Scheme)
	if name != agent.LocalStore && !inEtcd {
		return backup.Info{}, Usagef("--store %s: a backup is restored into the data directory (UNITD_DATA), or into etcd", name)
	}
	if storeOnly {
		if _, err := agent.DataDir(); err != nil {
			return backup.Info{}, err
		}
		lock, err := agent.TakeLock()
		if err != nil {
			return backup.Info{}, err
		}
		defer a.Release(lock)
	}
	to := backup.Target{Dir: dir, Inside: !inEtcd, StoreOnly: storeOnly, StoreFile: agent.StoreFile, Open: a.openTarget(inEtcd)}
	info, err := backup.Restore(a.Context(), durable.Disk{}, to, path, with)
	if errors.Is(err, state.ErrNotEmpty) {
		return info, errors.Errorf("the store %s is not empty: restore into another one", agent.StorePlace(name))
	}
	return info, err
}

// openTarget opens the store that is to be filled.
func (a backupVerbs) openTarget(inEtcd bool) func(dir string) (*state.Controller, func() error, error) {
	return func(dir string) (*state.Controller, func() error, error) {
		if inEtcd {
			s, _, err := a.OpenStore(dir, clock.WallClock)
			if err != nil {
				return nil, nil, err
			}
			return state.NewController(s, clock.WallClock).WithAuthor(a.Author), a.CloseStore, nil
		}
		db, err := sqlite.Open(filepath.Join(dir, agent.StoreFile), sqlite.Options{Log: agent.NewLog(a.Err), Clock: clock.WallClock})
		if err != nil {
			return nil, nil, errors.Trace(err)
		}
		return state.NewController(db, clock.WallClock).WithAuthor(a.Author), db.Close, nil
	}
}

// tellRestored says what is in a backup, or was restored of it.
func (a backupVerbs) tellRestored(path string, i backup.Info, checked bool) {
	if !checked {
		a.printf("Restored %s: %s\n", path, summary(i))
		a.tellLacks(i)
		a.Note("Start the agent with \"unitd agent\". Don't start the former one any more")
		return
	}
	a.printf("%s is whole: %s\n", path, summary(i))
	a.printf("Taken %s on %s by unitd %s\n", i.Taken.Format("2006-01-02 15:04:05 UTC"), i.Host, i.Version)
	for _, m := range i.Models {
		a.printf("Model %s (%s)\n", m.Name, m.UUID)
		for _, u := range m.Units {
			a.printf("  %s, run %d", u.Name, u.Run)
			if u.Running != "" {
				a.printf(", interrupted in %s", u.Running)
			}
			if u.Machine != "" {
				a.printf(", its files are on machine %s", u.Machine)
			}
			a.printf("\n")
		}
	}
	if !i.Storage {
		a.printf("The content of storage isn't in it\n")
	}
}
