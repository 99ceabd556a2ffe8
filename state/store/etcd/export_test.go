package etcd

import "context"

// SetFormat writes the layout that a store has.
func SetFormat(ctx context.Context, s *Store, format string) {
	if _, err := s.client.Put(ctx, s.prefix+"format", format); err != nil {
		panic(err)
	}
}
