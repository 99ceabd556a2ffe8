package cli

import (
	"crypto/rand"
	"encoding/base64"
	"os"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/state/store/etcd"
)

// storeUser is what store-user is told to do.
type storeUser struct {
	name                  string
	all, readOnly, deploy bool
	cert, remove          bool
	passwordFile          string
}

func (a storeVerbs) storeUserCmd() *cobra.Command {
	var u storeUser
	cmd := &cobra.Command{
		Use:   "store-user NAME",
		Short: "Give an agent or a person their own credentials for the store in etcd",
		Long: `Make a user of etcd, with a role that lets it read and write the documents of one
model (--model), read the charms, and nothing else in the cluster; with --all read and
write all of the store. The password is made here and printed, or written to a new file; with
--certificate there is none: etcd knows the user by the common name of its certificate.

The command itself needs to be etcd's root. What roles can't keep apart is in the
documents: docs/operating.md.`,
		Example: `  unitd store-user machine-3 --model shop --password-file machine-3.password
  unitd store-user alice --model shop --deploy
  unitd store-user grafana --model shop --read-only --certificate
  unitd store-user machine-3 --remove`,
		Args: Args(1, 1, "no user specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			u.name = args[0]
			return a.storeUser(u)
		},
	}
	cmd.Flags().BoolVar(&u.all, "all", false, "for all models, those to come as well")
	cmd.Flags().BoolVar(&u.readOnly, "read-only", false, "to read alone")
	cmd.Flags().BoolVar(&u.deploy, "deploy", false, "and to store charms and resources, which all models share: for who deploys, no agent needs it")
	cmd.Flags().BoolVar(&u.cert, "certificate", false, "without a password, known by its certificate")
	cmd.Flags().BoolVar(&u.remove, "remove", false, "take the user away")
	cmd.Flags().StringVar(&u.passwordFile, "password-file", "", "write the password to this new file")
	return cmd
}

func (a storeVerbs) storeUser(u storeUser) error {
	if u.readOnly && u.deploy {
		return Usagef("--read-only is to read alone, --deploy to write: choose one of them")
	}
	if u.cert && u.passwordFile != "" {
		return Usagef("--certificate is without a password, --password-file with one: choose one of them")
	}
	if _, err := a.Open(); err != nil {
		return err
	}
	s, ok := a.OpenedStore().(*etcd.Store)
	if !ok {
		return errors.New("the store is a file of this host, for its owner alone: only one in etcd has users (--store)")
	}
	if u.remove {
		return s.RemoveUser(a.Context(), u.name)
	}
	access, err := a.accessFor(u)
	if err != nil {
		return err
	}
	password := ""
	if !u.cert {
		b := make([]byte, 24)
		if _, err := rand.Read(b); err != nil {
			return errors.Annotate(err, "cannot make a password")
		}
		password = base64.RawURLEncoding.EncodeToString(b)
	}
	forget := func() {}
	if u.passwordFile != "" {
		if forget, err = keepPassword(u.passwordFile, password); err != nil {
			return err
		}
	}
	if err := s.AddUser(a.Context(), u.name, password, access); err != nil {
		forget()
		return err
	}
	if password != "" && u.passwordFile == "" {
		a.printf("%s\n", password)
	}
	return nil
}

// keepPassword writes a new file before there is the user; forget removes it.
func keepPassword(path, password string) (forget func(), err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, errors.Annotate(err, "cannot keep the password")
	}
	forget = func() { _ = os.Remove(path) }
	_, err = f.WriteString(password + "\n")
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		forget()
		return nil, errors.Annotate(err, "cannot keep the password")
	}
	return forget, nil
}

// accessFor is what the user is to be allowed.
func (a storeVerbs) accessFor(u storeUser) ([]etcd.Access, error) {
	if u.all {
		return []etcd.Access{{Prefix: true, Write: !u.readOnly}}, nil
	}
	m, err := a.model()
	if err != nil {
		return nil, err
	}
	documents, entry, gone, list, files := m.Keys()
	return []etcd.Access{
		{Key: documents, Prefix: true, Write: !u.readOnly},
		{Key: entry, Write: !u.readOnly},
		{Key: gone, Write: !u.readOnly},
		{Key: list, Prefix: true},
		{Key: files, Prefix: true, Write: u.deploy},
	}, nil
}
