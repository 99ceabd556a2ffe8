package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/backup"
	"github.com/unitd/unitd/durable"
)

// backupVerbs write everything to a file, and make everything of one.
type backupVerbs struct{ base }

func (a backupVerbs) backupCmd() *cobra.Command {
	var (
		key     passphrase
		to      []string
		storage bool
		format  string
	)
	cmd := &cobra.Command{
		Use:   "backup [FILE]",
		Short: "Write everything to one encrypted file, while agents run",
		Long: `Write all models with their charms and resources, the units' files on this host,
images, logs, and the keys of secrets to one new file. Agents and hooks go on
meanwhile, and the file shows a single moment: a hook that was running then counts as
interrupted after a restore. With --storage, the content of storage is in it too.

The file is encrypted for a passphrase, or for recipients: public keys of age, which
"age-keygen" makes. The passphrase is read from a file, from ` + passphraseVariable + `,
or from the terminal. Without the passphrase or a key, nobody can read the backup.

"unitd restore" makes a data directory from the file. If the models are in etcd, run
"unitd backup" on the host where they are managed. The backup doesn't contain the files
of units on hosts that have joined.`,
		Example: `  unitd backup --passphrase-file ~/backup.passphrase
  unitd backup /mnt/nightly.backup --storage --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p`,
		Args: Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			path := time.Now().UTC().Format("unitd-20060102T150405Z.backup")
			if len(args) > 0 {
				path = args[0]
			}
			recipients, err := a.recipients(key, to)
			if err != nil {
				return err
			}
			taken, err := a.takeBackup(path, recipients, storage)
			if err != nil {
				return err
			}
			if format != "text" {
				return a.write(format, "", taken)
			}
			a.printf("Wrote %s (%.1f MiB): %s\n", path, float64(taken.Bytes)/(1<<20), summary(taken.Info))
			a.tellLacks(taken.Info)
			if len(taken.LeftOut) > 0 {
				a.Note("WARNING: this user may not read all files; the backup lacks %s", someOf(taken.LeftOut))
			}
			return nil
		},
	}
	key.declare(cmd)
	cmd.Flags().StringArrayVar(&to, "recipient", nil, "encrypt for whoever has the private key of this public key of age (can be repeated)")
	cmd.Flags().BoolVar(&storage, "storage", false, "include the content of storage")
	cmd.Flags().StringVar(&format, "format", "text", "text, json or yaml")
	formats(cmd, "text", "json", "yaml")
	return cmd
}

// recipients are those that a backup is encrypted for.
func (a backupVerbs) recipients(key passphrase, to []string) ([]age.Recipient, error) {
	var recipients []age.Recipient
	for _, text := range to {
		r, err := age.ParseX25519Recipient(text)
		if err != nil {
			return nil, Usagef("--recipient: %q is no public key of age (age1…)", text)
		}
		recipients = append(recipients, r)
	}
	if len(recipients) > 0 {
		if key.file != "" {
			return nil, Usagef("--passphrase-file is for a passphrase, --recipient for keys: choose one of them")
		}
		return recipients, nil
	}
	text, err := key.read(a.base, true)
	if err != nil {
		return nil, err
	}
	r, err := age.NewScryptRecipient(text)
	return []age.Recipient{r}, errors.Annotate(err, "cannot use the passphrase")
}

func (a backupVerbs) takeBackup(path string, to []age.Recipient, storage bool) (backup.Taken, error) {
	dir, err := agent.DataDir()
	if err != nil {
		return backup.Taken{}, err
	}
	if err := a.mayBackUp(dir); err != nil {
		return backup.Taken{}, err
	}
	c, err := a.Open()
	if err != nil {
		return backup.Taken{}, err
	}
	if err := agent.HasKeys(a.Context(), c, "the backup lacks the key for secrets of"); err != nil {
		a.Note("WARNING: %v; if the agent has its key from a credential, set %s and take the backup again", err, agent.SecretKeyVariable)
	}
	host, _ := os.Hostname() // for people
	return backup.Take(a.Context(), durable.Disk{}, backup.Source{
		Dir: dir, Controller: c, Keys: func() ([]byte, error) { return agent.KeysForSecrets(dir) }, Storage: storage, Version: agent.Version(), Host: host,
	}, to, path)
}

// mayBackUp refuses where what is backed up isn't here.
func (a backupVerbs) mayBackUp(dir string) error {
	if err := agent.CheckPrivate(dir); err != nil {
		return err
	}
	joined, err := agent.ReadJoin(dir)
	if err != nil {
		return err
	}
	if joined != nil {
		return errors.Errorf("this data directory is machine %s's: take the backup where the models are managed", joined.Machine)
	}
	name, err := a.StoreName()
	if err != nil {
		return err
	}
	if a.StoreIsServed() {
		return errors.Errorf("the store %s is served by its agent: take the backup as the user of that, in its data directory", name)
	}
	if name != agent.LocalStore && agent.OfHost(name) {
		return errors.Errorf("the store %s belongs to another data directory: take the backup with UNITD_DATA=%s", name, filepath.Dir(name))
	}
	if name == agent.LocalStore && !a.HasStore(dir) {
		return errors.NewNotFound(nil, "there is nothing to back up: "+dir+" has no store")
	}
	managed, err := a.ManagedElsewhere(dir)
	if err == nil && managed != nil {
		a.Note("WARNING: the models are managed on host %s: the files of the units there aren't in this backup", managed.Host)
	}
	return err
}

// summary says in a line what a backup has.
func summary(i backup.Info) string {
	var models []string
	units := 0
	for _, m := range i.Models {
		models = append(models, m.Name)
		units += len(m.Units)
	}
	what := "no models"
	if len(models) > 0 {
		what = fmt.Sprintf("models %s, %d units", someOf(models), units)
	}
	return fmt.Sprintf("%s, revision %d of the store", what, i.Revision)
}

// someOf lists the first of many names.
func someOf(names []string) string {
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// tellLacks says what isn't in a backup as it would be without agents that run, or at all.
func (a backupVerbs) tellLacks(i backup.Info) {
	var elsewhere, isolated []string
	for _, m := range i.Models {
		for _, u := range m.Units {
			name := m.Name + ":" + u.Name
			if u.Running != "" {
				a.Note("%s was running %s, which counts as interrupted after a restore", name, u.Running)
			}
			switch {
			case u.Machine != "":
				elsewhere = append(elsewhere, name)
			case u.Isolated:
				isolated = append(isolated, name)
			}
		}
	}
	if len(elsewhere) > 0 {
		a.Note("The files of units on hosts that have joined stay there: %s", someOf(elsewhere))
	}
	if len(isolated) > 0 {
		a.Note("What isolated units have changed in their own machines isn't in the backup: %s", someOf(isolated))
	}
}
