package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/peer"
	"github.com/unitd/unitd/sealed"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/served"
	"github.com/unitd/unitd/state/store/sqlite"
	"github.com/unitd/unitd/tools"
)

// storeFormat is the format of stores in a file, as both ends of a served one say it.
var storeFormat = strconv.Itoa(sqlite.Format)

// storeSocketFile says in the data directory at which socket its agent serves the store.
const storeSocketFile = "agent.store-socket"

// StoreSocket is where the agent of this data directory serves its store; empty: it doesn't.
func StoreSocket() string {
	dir, err := DataDirPath()
	if err != nil {
		return ""
	}
	if pid, err := Running(); err != nil || pid == 0 {
		return "" // one that was killed has left its note
	}
	b, err := os.ReadFile(filepath.Join(dir, storeSocketFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// storeSocket is the socket at which this agent serves its store; nil: it doesn't.
type storeSocket struct {
	server *served.Server
	end    func()
}

// serveStore serves the store at a socket, to those whom "unitd store-user" has let in.
func (h *Host) serveStore(path string, controller *state.Controller, log *slog.Logger) (*storeSocket, error) {
	dir, err := DataDir()
	if err != nil {
		return nil, errors.Trace(err)
	}
	note := filepath.Join(dir, storeSocketFile)
	if path == "" {
		_ = os.Remove(note) // that of one that was killed
		return nil, nil
	}
	if name, err := h.StoreName(); err != nil || name != LocalStore {
		if err == nil {
			err = Wrongf("--store-socket needs an agent with its own store, but this one works on %s", StorePlace(name))
		}
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, errors.Annotate(err, "--store-socket")
	}
	l, err := tools.ListenPublic(path)
	if errors.Is(err, errors.NotValid) {
		return nil, Wrongf("--store-socket: %v", err)
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot serve the store")
	}
	s := &served.Server{
		Store: controller.Store(), Format: storeFormat, Log: log,
		Who:    func(r store.Reader, who peer.Who) (served.Caller, error) { return caller(r, controller, who) },
		Agents: askedAgents{controller},
		Check: func(r store.Reader, c served.Caller, key string, value []byte) ([]byte, error) {
			value, err := controller.LoggedAs(r, key, value, c.Names)
			if err == nil && !c.MayWrite("") { // who may make models writes entries of any
				err = controller.CheckEntry(r, key, value)
			}
			return value, errors.Trace(err)
		},
		Keys: func() (string, error) { return keysToGive(h.keys) },
	}
	ctx, stop := context.WithCancel(h.ctx)
	told, err := controller.WatchStoreUsers(ctx)
	if err != nil {
		stop()
		l.Close()
		return nil, errors.Annotate(err, "cannot serve the store")
	}
	var over sync.WaitGroup
	over.Go(func() {
		for range told {
			s.Changed(ctx)
		}
	})
	over.Go(func() { _ = s.Serve(ctx, l.Listener.(*net.UnixListener)) })
	log.Info("serving the store", "socket", path)
	if err := (durable.Disk{}).ReplaceFile(note, []byte(path+"\n"), 0o600); err != nil {
		log.Warn("cannot write the file that says where the store is served", "err", err)
	}
	return &storeSocket{s, func() {
		_ = os.Remove(note)
		l.Close()
		stop()
		over.Wait()
	}}, nil
}

// close ends the serving.
func (s *storeSocket) close() {
	if s != nil {
		s.end()
	}
}

// hold has nobody be served until back is called, once the commits that have begun are made.
func (s *storeSocket) hold() (back func()) {
	if s == nil {
		return func() {}
	}
	return s.server.Hold()
}

// keysToGive are the keys for secrets, for those who are trusted.
func keysToGive(dir string) (string, error) {
	keys, err := secretKeys(dir)
	if err != nil {
		return "", errors.Trace(err)
	}
	return keys.Text(), nil
}

// keyring is where the keys for the secrets of an open store are: an agent that serves it has
// them.
func (h *Host) keyring(s store.Store, dir string) keyring {
	of, ok := s.(*served.Store)
	if !ok {
		return keyring{dir: dir}
	}
	return keyring{dir: dir, served: func() (*sealed.Keys, error) {
		text, err := of.Keys(h.ctx)
		if err != nil {
			return nil, errors.Trace(err)
		}
		return sealed.Parse(text)
	}}
}

// owner says whether somebody has the store's file in any case.
func owner(uid int) bool { return uid == 0 || uid == os.Geteuid() }

// caller is who calls, and what he may do: all, if the store's file is his, else what his
// roles, and those of his groups, let him do.
func caller(r store.Reader, c *state.Controller, who peer.Who) (served.Caller, error) {
	names := namesOf(who)
	if owner(who.UID) {
		return served.Caller{Name: names[0], Names: names, Rights: store.Everything(), Trusted: true}, nil
	}
	rights, trusted, err := c.StoreRights(r, names)
	if err == nil && len(rights) == 0 {
		err = errors.NewUnauthorized(nil, "the agent that serves the store gives user "+names[0]+` no access: the person who runs the agent can change that with "unitd store-user"`)
	}
	return served.Caller{Name: names[0], Names: names, Rights: rights, Trusted: trusted}, errors.Trace(err)
}

// CheckStoreUser is the error of a name that nobody on this host goes by: NotFound. A number is
// taken as it is, as for users whom this host knows from elsewhere.
func CheckStoreUser(name string) error {
	of, isGroup := strings.CutPrefix(name, "%")
	if isNumber(of) {
		if n, err := strconv.ParseUint(of, 10, 32); err != nil || strconv.FormatUint(n, 10) != of {
			return errors.NewNotValid(nil, fmt.Sprintf("%q isn't a valid number for a user or a group", of))
		}
		return nil
	}
	kind, err := "user", error(nil)
	if isGroup {
		kind = "group"
		_, err = user.LookupGroup(of)
	} else {
		_, err = user.Lookup(of)
	}
	if err != nil {
		return errors.NewNotFound(nil, fmt.Sprintf("/etc/passwd and /etc/group have no %s %q: if only a directory service knows it, give its number", kind, of))
	}
	return nil
}

func isNumber(name string) bool { return name != "" && strings.Trim(name, "0123456789") == "" }

// askedAgents are served.Agents.
type askedAgents struct{ controller *state.Controller }

// model is the model with that UUID, if the caller may read it. One that isn't there he may not
// read either.
func (a askedAgents) model(ctx context.Context, c served.Caller, uuid string) (*state.Model, error) {
	m, err := a.controller.ByUUID(ctx, uuid)
	if errors.Is(err, errors.NotFound) {
		return nil, c.Refused()
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	if documents, _, _, _, _ := m.Keys(); !c.MayRead(store.Below(documents)) {
		return nil, c.Refused()
	}
	return m, nil
}

// Ask is part of served.Agents. Who only reads is shown what agents have, and opens no sessions.
func (a askedAgents) Ask(ctx context.Context, c served.Caller, uuid, of string, body json.RawMessage) (json.RawMessage, error) {
	m, err := a.model(ctx, c, uuid)
	if err != nil {
		return nil, err
	}
	if documents, _, _, _, _ := m.Keys(); machine.AsksForSession(body) && !c.MayWrite(documents+"question") {
		return nil, c.Refused()
	}
	return m.Ask(ctx, of, body)
}

// AskSettled is part of served.Agents.
func (a askedAgents) AskSettled(ctx context.Context, c served.Caller, uuid string) (int64, error) {
	m, err := a.model(ctx, c, uuid)
	if err != nil {
		return 0, err
	}
	return m.AskSettled(ctx)
}

// namesOf are all names by which somebody may have been let in, his own first: the user's, and
// after a "%" those of groups, each also as a number.
func namesOf(who peer.Who) []string {
	uid := strconv.Itoa(who.UID)
	names := []string{uid}
	groups := []string{strconv.Itoa(who.GID)}
	if u, err := user.LookupId(uid); err == nil {
		if !isNumber(u.Username) { // a number is nobody's name
			names = []string{u.Username, uid}
		}
		if all, err := u.GroupIds(); err == nil {
			groups = append(groups, all...)
		}
	}
	slices.Sort(groups)
	for _, gid := range slices.Compact(groups) {
		names = append(names, "%"+gid)
		if g, err := user.LookupGroupId(gid); err == nil && !isNumber(g.Name) {
			names = append(names, "%"+g.Name)
		}
	}
	return names
}
