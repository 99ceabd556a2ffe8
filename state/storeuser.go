package state

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Role is what somebody is to a store, or to a model in it.
type Role string

// The roles. What each may do is in docs/operating.md, "Other users of this host".
const (
	// RoleReader looks, and changes nothing.
	RoleReader Role = "reader"
	// RoleAgent reads and writes documents. Charms and resources it only reads.
	RoleAgent Role = "agent"
	// RoleOperator stores those too.
	RoleOperator Role = "operator"
)

// writes says whether the role is more than a reader's. One that isn't known, as of a later
// unitd, isn't.
func (r Role) writes() bool { return r == RoleAgent || r == RoleOperator }

// Rights are those of somebody with that role in the model.
func (m *Model) Rights(role Role) store.Rights {
	documents, entry, gone, list, files := m.Keys()
	writes := role.writes()
	return store.Rights{
		{Keys: store.Below(documents), Write: writes},
		{Keys: store.Only(entry), Write: writes},
		{Keys: store.Only(gone), Write: writes},
		{Keys: store.Below(list)},
		{Keys: store.Below(files), Write: role == RoleOperator},
	}
}

// RightsInAll are those of somebody with that role in all models, those to come as well, and
// in the store itself: who may write there may also say who else may.
func RightsInAll(role Role) store.Rights {
	return store.Rights{{Keys: store.Below(""), Write: role.writes()}}
}

// StoreUser is somebody who uses a store that its agent serves on its host.
type StoreUser struct {
	// Name is that of a user of the host, or its number; after a "%" that of a group.
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Model and UUID are those of the model that the role is in; empty: all.
	Model string `json:"model,omitempty"`
	UUID  string `json:"uuid,omitempty"`
}

// storeUsersKey has the users of the store: no role but one in all models may write it.
const storeUsersKey = "controller/users"

func readStoreUsers(r store.Reader) (users []StoreUser, err error) {
	kv, err := r.Get(storeUsersKey)
	if errors.Is(err, errors.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	return users, errors.Annotatef(json.Unmarshal(kv.Value, &users), "document %s", storeUsersKey)
}

// StoreUsers are all users of the store, by name and model.
func (c *Controller) StoreUsers(ctx context.Context) (users []StoreUser, err error) {
	_, err = c.store.View(ctx, func(r store.Reader) (err error) {
		users, err = readStoreUsers(r)
		return errors.Trace(err)
	})
	return users, errors.Trace(err)
}

// SetStoreUser gives somebody a role in a model, or in all, in place of the one that he had
// there.
func (c *Controller) SetStoreUser(ctx context.Context, u StoreUser) error {
	return c.changeStoreUsers(ctx, func(users []StoreUser) ([]StoreUser, error) {
		users = slices.DeleteFunc(users, func(other StoreUser) bool { return other.Name == u.Name && other.UUID == u.UUID })
		users = append(users, u)
		slices.SortFunc(users, func(a, b StoreUser) int {
			return slices.Compare([]string{a.Name, a.Model, a.UUID}, []string{b.Name, b.Model, b.UUID})
		})
		return users, nil
	})
}

// RemoveStoreUser takes all roles from somebody. NotFound: he has none.
func (c *Controller) RemoveStoreUser(ctx context.Context, name string) error {
	return c.changeStoreUsers(ctx, func(users []StoreUser) ([]StoreUser, error) {
		left := slices.DeleteFunc(slices.Clone(users), func(u StoreUser) bool { return u.Name == name })
		if len(left) == len(users) {
			return nil, errors.NewNotFound(nil, "the store has no user \""+name+"\"")
		}
		return left, nil
	})
}

func (c *Controller) changeStoreUsers(ctx context.Context, change func([]StoreUser) ([]StoreUser, error)) error {
	_, err := c.store.Update(ctx, func(tx store.Tx) error {
		users, err := readStoreUsers(tx)
		if err != nil {
			return errors.Trace(err)
		}
		if users, err = change(users); err != nil {
			return errors.Trace(err)
		}
		if len(users) == 0 {
			return errors.Trace(tx.Delete(storeUsersKey))
		}
		b, err := json.Marshal(users)
		if err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(tx.Put(storeUsersKey, b))
	})
	return errors.Trace(err)
}

// StoreRights are the rights of somebody who goes by all of these names, as by those of his
// groups, as a view of the store has them. A role in a model that is gone gives none, also if
// there is another one of its name. trusted: one of the roles is more than that of a reader.
func (c *Controller) StoreRights(r store.Reader, names []string) (rights store.Rights, trusted bool, err error) {
	r = checkedReader{r}
	users, err := readStoreUsers(r)
	if err != nil {
		return nil, false, errors.Trace(err)
	}
	for _, u := range users {
		if !slices.Contains(names, u.Name) {
			continue
		}
		if u.UUID == "" {
			rights, trusted = append(rights, RightsInAll(u.Role)...), trusted || u.Role.writes()
			continue
		}
		// What the model's entry says beside its UUID is what somebody in that role has written.
		of := ModelInfo{Name: u.Model, UUID: u.UUID, controller: c.name}
		if _, err := readInfo(r, of); err != nil {
			continue // it is gone, or nobody can read it
		}
		rights, trusted = append(rights, c.open(of).Rights(u.Role)...), trusted || u.Role.writes()
	}
	return rights, trusted, nil
}

// CheckEntry is NotValid for a value that nobody with a role in one model may write at a key: what
// a model's entry says is believed by all, so it stays that of the same model. value is as the store
// has it.
func (c *Controller) CheckEntry(r store.Reader, key string, value []byte) error {
	name, ok := strings.CutPrefix(key, modelsPrefix)
	if !ok {
		return nil
	}
	was, err := readInfo(checkedReader{r}, ModelInfo{Name: name, UUID: infoOf(key, value).UUID, controller: c.name})
	if err != nil || was.Name != name || infoOf(key, value).Name != name {
		return errors.NewNotValid(err, "the entry of model "+name+" can't be made that of another one")
	}
	return nil
}

// infoOf is what an entry says; zero: it can't be read.
func infoOf(key string, value []byte) (info ModelInfo) {
	plain, ok := withoutSum(key, value)
	if !ok || json.Unmarshal(plain, &info) != nil {
		return ModelInfo{}
	}
	return info
}

// WatchStoreUsers tells when somebody gets or loses a role, and when models come and go.
func (c *Controller) WatchStoreUsers(ctx context.Context) (<-chan store.Batch, error) {
	ch, err := c.store.Watch(ctx, []store.Keys{store.Only(storeUsersKey), store.Below(modelsPrefix)}, 0)
	return ch, errors.Trace(err)
}
