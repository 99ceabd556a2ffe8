package cli

import (
	"crypto/rand"
	"encoding/base64"
	"os"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/served"
)

// storeUser is what store-user is told to do.
type storeUser struct {
	name                  string
	all, readOnly, deploy bool
	cert, remove, list    bool
	passwordFile          string
}

func (a storeVerbs) storeUserCmd() *cobra.Command {
	var u storeUser
	cmd := &cobra.Command{
		Use:   "store-user [NAME]",
		Short: "Let a person or an agent use the store",
		Long: `Let a person or an agent use the documents of one model (--model). By default, they may read and
write documents, but only read charms and resources. This is all that an agent needs. With --deploy, they may
also store charms and resources. With --read-only, they may change nothing. With --all, they may use all models
and the store itself; without --read-only, they may then do everything.

For the store of this host, NAME is a user of this host, and %GROUP is all users in a group. A number stands
for the user or group with that number. They reach the store at the socket of an agent that was started with
--store-socket, as in "unitd --store agent:/run/unitd-agent/store.socket status". They need no password,
because the kernel says who they are. --list shows who has been let in.

For a store in etcd, the command creates an etcd user with a role of its own. Run it as etcd's root. It makes
a password, and prints it or writes it to a new file. With --certificate there is no password: etcd knows
the user by the common name of its certificate.

For what roles can't keep apart, see docs/operating.md.`,
		Example: `  unitd store-user alice --model shop --deploy
  unitd store-user %ops --all --read-only
  unitd store-user --list
  unitd store-user machine-3 --model shop --password-file machine-3.password
  unitd store-user grafana --model shop --read-only --certificate
  unitd store-user machine-3 --remove`,
		Args: Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			if u.list != (len(args) == 0) {
				return Usagef("give the name of a user, or --list without a name")
			}
			if !u.list {
				u.name = args[0]
			}
			return a.storeUser(u)
		},
	}
	cmd.Flags().BoolVar(&u.all, "all", false, "for all models, including later ones, and the store itself")
	cmd.Flags().BoolVar(&u.readOnly, "read-only", false, "only let the user read")
	cmd.Flags().BoolVar(&u.deploy, "deploy", false, "also let the user store charms and resources, which all models share: for people who deploy; agents don't need it")
	cmd.Flags().BoolVar(&u.cert, "certificate", false, "etcd: identify the user by a certificate, without a password")
	cmd.Flags().BoolVar(&u.remove, "remove", false, "remove the user")
	cmd.Flags().BoolVar(&u.list, "list", false, "show who may use the store of this host")
	cmd.Flags().StringVar(&u.passwordFile, "password-file", "", "etcd: write the password to this new file")
	return cmd
}

func (a storeVerbs) storeUser(u storeUser) error {
	if u.readOnly && u.deploy {
		return Usagef("--read-only only lets the user read, and --deploy lets the user write: choose one")
	}
	if u.cert && u.passwordFile != "" {
		return Usagef("--certificate needs no password, and --password-file is for one: choose one")
	}
	c, err := a.Open()
	if err != nil {
		return err
	}
	if s, ok := a.OpenedStore().(*etcd.Store); ok {
		return a.etcdUser(s, u)
	}
	if u.cert || u.passwordFile != "" {
		return Usagef("users of this host need neither a password nor a certificate: --certificate and --password-file are for etcd")
	}
	switch {
	case u.list:
		return a.listStoreUsers(c)
	case u.remove:
		return c.RemoveStoreUser(a.Context(), u.name)
	}
	return a.letIn(c, u)
}

// role is what the user is to be.
func (u storeUser) role() state.Role {
	switch {
	case u.readOnly:
		return state.RoleReader
	case u.deploy || u.all:
		return state.RoleOperator
	}
	return state.RoleAgent
}

// letIn lets a user of this host use the store.
func (a storeVerbs) letIn(c *state.Controller, u storeUser) error {
	if err := agent.CheckStoreUser(u.name); err != nil {
		return err
	}
	of := state.StoreUser{Name: u.name, Role: u.role()}
	if !u.all {
		m, err := a.model()
		if err != nil {
			return err
		}
		of.Model, of.UUID = m.Name(), m.UUID()
	}
	if err := c.SetStoreUser(a.Context(), of); err != nil {
		return err
	}
	switch path := agent.StoreSocket(); {
	case a.StoreIsServed():
	case path == "":
		a.Note(`No other user can reach the store yet: start the agent so that it serves the store, as in "unitd agent --store-socket /run/unitd-agent/store.socket"`)
	default:
		a.Note("To use the store: --store %s%s", served.Scheme, path)
	}
	return nil
}

// listStoreUsers prints who may use the store of this host.
func (a storeVerbs) listStoreUsers(c *state.Controller) error {
	users, err := c.StoreUsers(a.Context())
	if err != nil {
		return err
	}
	a.printf("%s", render.StoreUsersTable(users))
	return nil
}

// etcdUser makes or removes a user of etcd.
func (a storeVerbs) etcdUser(s *etcd.Store, u storeUser) error {
	if u.list {
		return Usagef("--list is for the store of this host: \"etcdctl user list\" shows the users of etcd")
	}
	if u.remove {
		return s.RemoveUser(a.Context(), u.name)
	}
	access, err := a.rights(u)
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

// rights are what the user is to be allowed.
func (a storeVerbs) rights(u storeUser) (store.Rights, error) {
	if u.all {
		return state.RightsInAll(u.role()), nil
	}
	m, err := a.model()
	if err != nil {
		return nil, err
	}
	return m.Rights(u.role()), nil
}
