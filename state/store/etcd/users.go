package etcd

import (
	"context"

	"github.com/juju/errors"
	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unitd/unitd/state/store"
)

// AddUser makes a user of etcd who may do that in this store and nothing else.
// Without a password the user is the one whose certificate has the name as its
// common name. Only root may do it. Errors: AlreadyExists, Unauthorized.
//
// A role of the user's own has what is allowed. Who may write may also write
// the marks of deletions and the slots of commits that go with the keys.
func (s *Store) AddUser(ctx context.Context, name, password string, access store.Rights) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	_, err = s.client.UserAddWithOptions(ctx, name, password, &clientv3.UserAddOptions{NoPassword: password == ""})
	if errors.Is(err, rpctypes.ErrUserAlreadyExist) {
		return errors.NewAlreadyExists(nil, "etcd has a user "+quote(name)+" already")
	}
	if err != nil {
		return errors.Annotatef(readable(err, s.names), "cannot add user %q", name)
	}
	if err := s.grant(ctx, name, access); err != nil {
		s.removeUser(context.WithoutCancel(ctx), name) // as good as can be
		return errors.Annotatef(readable(err, s.names), "cannot add user %q", name)
	}
	return nil
}

// role is the name of the user's role in this store.
func (s *Store) role(name string) string { return s.prefix + name }

func (s *Store) grant(ctx context.Context, name string, access store.Rights) error {
	role := s.role(name)
	// One that is left of a former user of the name may allow more.
	if err := s.removeRole(ctx, role); err != nil {
		return errors.Trace(err)
	}
	if _, err := s.client.RoleAdd(ctx, role); err != nil {
		return errors.Trace(err)
	}
	for _, p := range s.permissions(access) {
		if _, err := s.client.RoleGrantPermission(ctx, role, p.key, p.end, clientv3.PermissionType(p.kind)); err != nil {
			return errors.Trace(err)
		}
	}
	_, err := s.client.UserGrantRole(ctx, name, role)
	return errors.Trace(err)
}

// permission is one of etcd's.
type permission struct {
	key, end string
	kind     authpb.Permission_Type
}

// permissions are what access means for the keys of etcd.
func (s *Store) permissions(access store.Rights) []permission {
	const read, both = authpb.READ, authpb.READWRITE
	// What every request begins with.
	out := []permission{{s.prefix + "format", "", read}, {s.key("-"), "", read}}
	for _, a := range access {
		key, end := s.key(a.Key), ""
		if a.Prefix {
			end = clientv3.GetPrefixRangeEnd(key)
		}
		if !a.Write {
			out = append(out, permission{key, end, read})
			continue
		}
		out = append(out, permission{key, end, both})
		group := directory(a.Key, coarse)
		for _, beside := range []string{s.mark(group), s.prefix + "t/" + group} {
			out = append(out, permission{beside, clientv3.GetPrefixRangeEnd(beside), both})
		}
		if group != "" {
			out = append(out, permission{s.mark(""), "", both})
		}
	}
	return out
}

// RemoveUser removes a user with the role that AddUser gave it. Only root may
// do it. Errors: NotFound, Unauthorized.
func (s *Store) RemoveUser(ctx context.Context, name string) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	err = s.removeUser(ctx, name)
	if errors.Is(err, rpctypes.ErrUserNotFound) {
		return errors.NewNotFound(nil, "etcd has no user "+quote(name))
	}
	return errors.Annotatef(readable(err, s.names), "cannot remove user %q", name)
}

func (s *Store) removeUser(ctx context.Context, name string) error {
	// The user first: one without a role can do nothing, a role without a user
	// is nobody's.
	_, err := s.client.UserDelete(ctx, name)
	if err != nil && !errors.Is(err, rpctypes.ErrUserNotFound) {
		return errors.Trace(err)
	}
	// Also of a user who is gone: somebody may have been killed in between.
	if err := s.removeRole(ctx, s.role(name)); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(err)
}

// removeRole removes a role, if there is one.
func (s *Store) removeRole(ctx context.Context, role string) error {
	_, err := s.client.RoleDelete(ctx, role)
	if errors.Is(err, rpctypes.ErrRoleNotFound) {
		return nil
	}
	return errors.Trace(err)
}
