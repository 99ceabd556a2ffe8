package agent

import (
	"cmp"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/juju/errors"

	"github.com/unitd/unitd/backup"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd"
)

// Joined says of a data directory which machine its agent is. There is none
// in the one that has the models.
type Joined struct {
	// Store is where the models are: the path of SQLite's file, or etcd's URL.
	Store string `json:"store"`
	// Model is the model's UUID, Machine the id of the machine, Agent that of the
	// agent, by which the model knows it again.
	Model   string `json:"model"`
	Machine string `json:"machine"`
	Agent   string `json:"agent"`
	// Address is what --address has said; empty: what the host has.
	Address string `json:"address,omitempty"`
	// Gone: the machine has been removed, and the agent must not run again.
	Gone bool `json:"gone,omitempty"`
}

func joinPath(dir string) string { return filepath.Join(dir, "machine.json") }

// ReadJoin reads the record of a data directory; nil where it has none.
func ReadJoin(dir string) (*Joined, error) {
	b, err := os.ReadFile(joinPath(dir))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot tell which machine this is")
	}
	r := &Joined{}
	return r, errors.Annotatef(json.Unmarshal(b, r), "cannot tell which machine this is: %s", joinPath(dir))
}

// keep writes the record of a data directory; nil: it has none any more. What is
// there is the one or the other, whenever the machine loses its power.
func (r *Joined) keep(dir string) error {
	disk, path := durable.Disk{}, joinPath(dir)
	if r == nil {
		return errors.Annotate(disk.Remove(path), "cannot forget which machine this is")
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return errors.Trace(err)
	}
	err = disk.ReplaceFile(path, append(b, '\n'), 0o600)
	return errors.Annotate(err, "cannot keep which machine this is")
}

// joinedStore is the store of the models that the agent of this data directory
// has joined, as StoreName has it; empty where it has joined none.
func joinedStore() (string, error) {
	dir, err := DataDirPath()
	if err != nil {
		return "", err
	}
	r, err := ReadJoin(dir)
	if err != nil || r == nil {
		return "", errors.Trace(err)
	}
	return r.Store, nil
}

// JoinOptions say as which machine an agent joins.
type JoinOptions struct {
	// Token is that of "unitd add-machine", or "@" and the name of a file that has it;
	// empty: it joins as none, or as before.
	Token string
	// Address is that by which other machines reach this host; empty: what it has.
	Address string
}

// Join makes the agent of this data directory a machine's, if that is asked
// for, and says what is known of that; nil: the agent has the models.
func (h *Host) Join(f JoinOptions) (*Joined, error) {
	dir, err := DataDir()
	if err != nil {
		return nil, err
	}
	was, err := ReadJoin(dir)
	if err != nil {
		return nil, err
	}
	if f.Token == "" {
		return h.joinedAs(dir, was, f)
	}
	token, err := f.readToken()
	if err != nil {
		return nil, err
	}
	name, err := h.StoreName()
	if err != nil {
		return nil, err
	}
	if name == LocalStore {
		return nil, Wrongf("--join without --store: say where the models are")
	}
	if err := h.checkFree(dir, was, token); err != nil {
		return nil, err
	}
	r := &Joined{Store: name, Model: token.Model, Machine: token.Machine, Address: f.Address}
	if was != nil && !was.Gone && was.Model == r.Model && was.Machine == r.Machine {
		r.Agent = was.Agent // it was killed as it joined, perhaps
	} else {
		id, err := uuid.NewRandom()
		if err != nil {
			return nil, errors.Annotate(err, "cannot make the agent's id")
		}
		r.Agent = id.String()
	}
	// Kept first: the token may be used up by an agent that is killed then.
	if err := r.keep(dir); err != nil {
		return nil, err
	}
	err = h.joinMachine(token, r.Agent)
	if errors.Is(err, errors.Forbidden) || errors.Is(err, errors.NotFound) {
		return nil, stderrors.Join(err, was.keep(dir))
	}
	return r, err
}

// checkFree says whether the agent of a data directory, of which was is known,
// can be the token's machine.
func (h *Host) checkFree(dir string, was *Joined, token state.Token) error {
	if was == nil {
		if _, err := os.Stat(filepath.Join(dir, StoreFile)); err == nil {
			return errors.NewAlreadyExists(nil, dir+" has models of its own: give the machine another data directory (UNITD_DATA)")
		}
		return nil
	}
	if was.Gone || was.Model == token.Model && was.Machine == token.Machine {
		return nil
	}
	named := h.StoreFlag
	h.StoreFlag = was.Store
	there, err := h.stillMachine(was)
	if err == nil && !there {
		if err = h.wasRemoved(dir, was); err == nil {
			err = h.leave(dir, was)
		}
	}
	h.StoreFlag = named
	if err != nil {
		return err
	}
	if there {
		return errors.NewAlreadyExists(nil, "this agent is machine "+was.Machine+" already: give the new one another data directory (UNITD_DATA)")
	}
	return h.CloseStore() // the new one may be another
}

func (h *Host) joinMachine(token state.Token, agent string) error {
	m, err := h.modelByUUID(token.Model)
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // without a name it is known by its number
	return m.JoinMachine(h.ctx, token, agent, "manual:"+cmp.Or(host, token.Machine))
}

// joinedAs is what the agent has joined as before; nil: as nothing.
func (h *Host) joinedAs(dir string, r *Joined, f JoinOptions) (*Joined, error) {
	switch {
	case r == nil:
		return nil, h.ownStore()
	case r.Gone:
		return nil, errMachineRemoved(r.Machine)
	}
	if f.Address != "" || h.StoreFlag != "" {
		name, err := h.StoreName()
		if err != nil {
			return nil, err
		}
		if err := h.sameModel(r, name); err != nil {
			return nil, err
		}
		r.Address, r.Store = cmp.Or(f.Address, r.Address), name
		if err := r.keep(dir); err != nil {
			return nil, err
		}
	}
	there, err := h.stillMachine(r)
	if err == nil && !there {
		if err = h.wasRemoved(dir, r); err == nil {
			err = h.leave(dir, r)
		}
		if err == nil {
			err = errMachineRemoved(r.Machine)
		}
	}
	return r, err
}

// wasRemoved is the error where the machine isn't in the model because the store was restored
// from a backup: nobody has removed it, so nothing of it is cleared away.
func (h *Host) wasRemoved(dir string, r *Joined) error {
	m, err := h.modelByUUID(r.Model)
	if errors.Is(err, errors.NotFound) {
		return nil // stillMachine knows that the model was removed
	}
	if err != nil {
		return err
	}
	doc, restored, err := m.Restored(h.ctx)
	if err != nil || !restored {
		return err
	}
	knows, err := backup.Knows(dir, r.Model, doc)
	if err != nil || knows {
		return err
	}
	return errors.NewNotFound(nil, fmt.Sprintf("the store was restored from a backup of %s, which doesn't have this agent as machine %s: nothing in %s is touched; "+
		`join with another data directory (UNITD_DATA), and copy from here what you need`, doc.Taken.UTC().Format("2006-01-02 15:04:05 UTC"), r.Machine, dir))
}

// sameModel refuses another store that a person names where it hasn't the model:
// the agent would take that for the end of its machine, and clear it away.
func (h *Host) sameModel(r *Joined, store string) error {
	if store == r.Store {
		return nil
	}
	_, err := h.modelByUUID(r.Model)
	if errors.Is(err, errors.NotFound) {
		return errors.NewNotFound(nil, "the store "+store+" doesn't have the model that this agent has joined as machine "+r.Machine+
			": name the one that has, or none for "+r.Store)
	}
	return err
}

// leave clears away what the machine has here that was removed, and notes then
// that it has been.
func (h *Host) leave(dir string, r *Joined) error {
	c, err := h.Config()
	if err != nil {
		return err
	}
	r.Configure(&c)
	if err := machine.Leave(h.ctx, c); err != nil {
		return err
	}
	r.Gone = true
	return r.keep(dir)
}

// errMachineRemoved is the error of an agent that must not run again.
func errMachineRemoved(id string) error {
	return errors.NewForbidden(nil, "machine "+id+` has been removed from the model, and its agent doesn't run again: `+
		`for this host to be a new machine, join with a token of "unitd add-machine"`)
}

// stillMachine says whether the agent is still that of the machine.
func (h *Host) stillMachine(r *Joined) (bool, error) {
	m, err := h.modelByUUID(r.Model)
	if errors.Is(err, errors.NotFound) {
		return h.stillModel(r, err)
	}
	var doc state.MachineDoc
	if err == nil {
		doc, err = m.Machine(h.ctx, r.Machine)
	}
	switch {
	case errors.Is(err, errors.NotFound):
		return false, nil
	case err != nil:
		return false, err
	case doc.Agent == "" && doc.Join != nil:
		return false, errors.NewNotValid(nil, "this agent has not joined as machine "+r.Machine+" yet: give it the token with --join")
	}
	return doc.Life != model.Dead && doc.Agent == r.Agent, nil
}

// stillModel is stillMachine where the store doesn't have the model: it was
// removed, with its machines, or this isn't its store.
func (h *Host) stillModel(r *Joined, missing error) (bool, error) {
	c, err := h.Open()
	if err != nil {
		return false, err
	}
	gone, err := c.Gone(h.ctx, r.Model)
	if err != nil || gone {
		return false, err
	}
	return false, fmt.Errorf("%w: it isn't the store in which this agent has joined as machine %s", missing, r.Machine)
}

// check says whether the flags can be meant.
func (f JoinOptions) check() error {
	switch {
	case f.Address != "" && net.ParseIP(f.Address) == nil:
		return Wrongf("--address: %q is not an IP address", f.Address)
	case f.Token == "":
		return nil
	}
	_, err := f.readToken()
	return err
}

// readToken reads what --join says: a token, or the name of a file that has it,
// so that it need not be among what "ps" shows.
func (f JoinOptions) readToken() (state.Token, error) {
	text := f.Token
	if path, ok := strings.CutPrefix(text, "@"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return state.Token{}, errors.Annotate(err, "--join")
		}
		text = string(b)
	}
	token, err := state.ParseToken(text)
	if err != nil {
		return token, Wrongf("--join: %v", err)
	}
	return token, nil
}

// ownStore is the error of an agent that has joined as no machine and is to work
// on the models of another data directory, which have an agent of their own.
func (h *Host) ownStore() error {
	name, err := h.StoreName()
	if err != nil || name == LocalStore || strings.HasPrefix(name, etcd.Scheme) {
		return err
	}
	return Wrongf(`--store without --join: "unitd add-machine" makes a token for this host`)
}

// modelByUUID opens the model with that UUID.
func (h *Host) modelByUUID(id string) (*state.Model, error) {
	c, err := h.Open()
	if err != nil {
		return nil, err
	}
	return c.ByUUID(h.ctx, id)
}

// machineGone notes that the machine of this data directory has been removed.
func (r *Joined) machineGone() error {
	dir, err := DataDir()
	if err != nil {
		return err
	}
	r.Gone = true
	return r.keep(dir)
}

// Configure has an agent be that of the machine, if it has joined.
func (r *Joined) Configure(c *machine.Config) {
	if r == nil {
		return
	}
	c.Machine = &machine.Machine{Model: r.Model, ID: r.Machine, Agent: r.Agent}
	c.Look = func() machine.Host { return machine.ReachableHost(r.Address) }
}
