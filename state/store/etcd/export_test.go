package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// SetFormat writes the layout that a store has.
func SetFormat(ctx context.Context, s *Store, format string) {
	if _, err := s.client.Put(ctx, s.prefix+"format", format); err != nil {
		panic(err)
	}
}

// EnableUsers makes a user root, known by its certificate, and has etcd let in
// nobody but users.
func EnableUsers(ctx context.Context, s *Store) error {
	if _, err := s.client.UserAddWithOptions(ctx, "root", "", &clientv3.UserAddOptions{NoPassword: true}); err != nil {
		return err
	}
	if _, err := s.client.UserGrantRole(ctx, "root", "root"); err != nil {
		return err
	}
	_, err := s.client.AuthEnable(ctx)
	return err
}
