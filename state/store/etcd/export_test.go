package etcd

import "context"

// SetFormat writes the layout that a store has.
func SetFormat(ctx context.Context, s *Store, format string) {
	if _, err := s.client.Put(ctx, s.prefix+"format", format); err != nil {
		panic(err)
	}
}

// DeleteUser removes a user as far as who is killed meanwhile does: the role is left.
func DeleteUser(ctx context.Context, s *Store, name string) {
	if _, err := s.client.UserDelete(ctx, name); err != nil {
		panic(err)
	}
}

// HasRole says whether etcd has the role of a user.
func HasRole(ctx context.Context, s *Store, name string) bool {
	_, err := s.client.RoleGet(ctx, s.role(name))
	return err == nil
}

// FormatOf is the layout that a store has.
func FormatOf(ctx context.Context, s *Store) string {
	resp, err := s.client.Get(ctx, s.prefix+"format")
	if err != nil || len(resp.Kvs) != 1 {
		panic(err)
	}
	return string(resp.Kvs[0].Value)
}

// LateCommit has a commit that writes a key reach etcd only after it was found
// not to have been made, and says what was found before and after.
func LateCommit(ctx context.Context, s *Store, key string) (before, made, after bool, err error) {
	t := newTransaction(ctx, s)
	if err := t.begin(); err != nil {
		return false, false, false, err
	}
	if err := t.tx.Put(key, nil); err != nil {
		return false, false, false, err
	}
	slot, number, err := t.draw()
	if err != nil {
		return false, false, false, err
	}
	if _, before, err = t.find(slot, number); err != nil {
		return false, false, false, err
	}
	resp, err := t.send(slot, number)
	if err != nil {
		return false, false, false, err
	}
	_, after, err = t.find(slot, number)
	return before, resp.Succeeded, after, err
}

// Readable is the error that people see.
func Readable(err error) error { return readable(err, "here") }
