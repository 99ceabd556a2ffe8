package etcd

import (
	"context"
	"fmt"
	"time"

	"github.com/juju/errors"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unitd/unitd/state/store"
)

// request asks etcd until it answers, for as long as there is patience. What is
// asked may be asked twice without harm.
func request[T any](ctx context.Context, s *Store, ask func(context.Context) (T, error)) (T, error) {
	return requestFor(ctx, s, patience, ask)
}

// requestFor is request with some patience.
func requestFor[T any](ctx context.Context, s *Store, patience time.Duration, ask func(context.Context) (T, error)) (T, error) {
	late := time.Now().Add(patience)
	var why error // the last that says more than that time has run out
	for {
		asking, cancel := context.WithTimeout(ctx, min(attempt, patience))
		answer, err := ask(asking)
		cancel()
		if err == nil {
			return answer, nil
		}
		if gone := s.life.Gone(ctx); gone != nil {
			return answer, gone
		}
		if why == nil || !errors.Is(err, context.DeadlineExceeded) {
			why = err
		}
		if !silent(err) || time.Now().After(late) {
			return answer, readable(why, s.names)
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// request is for the most common answer.
func (s *Store) request(ctx context.Context, ask func(context.Context) (*clientv3.GetResponse, error)) (*clientv3.GetResponse, error) {
	return request(ctx, s, ask)
}

// silent says whether an error is that of having got no answer from a cluster
// that works, so that asking again can help.
func silent(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted:
		return true
	case codes.Unknown, codes.Internal, codes.Canceled:
		// What a connection says that is being closed under a request.
		var known rpctypes.EtcdError
		return !errors.As(err, &known)
	}
	return false
}

// codeOf is gRPC's code of an error, which etcd's client has its own type for.
func codeOf(err error) codes.Code {
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return known.Code()
	}
	return status.Code(errors.Cause(err))
}

func isCompacted(err error) bool { return errors.Is(err, rpctypes.ErrCompacted) }

func isFuture(err error) bool { return errors.Is(err, rpctypes.ErrFutureRev) }

func leaseIsGone(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// readable is the error in words for who has to do something about it.
func readable(err error, endpoints string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return errors.NewUnauthorized(err, fmt.Sprintf("etcd at %s doesn't let this user do that: give its role what it needs, or name another user", endpoints))
	case errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrInvalidAuthToken):
		return errors.NewUnauthorized(err, fmt.Sprintf("etcd at %s wants the name and the password of a user that it knows", endpoints))
	case errors.Is(err, rpctypes.ErrNoSpace):
		return errors.WithType(errors.Annotatef(err, "etcd at %s is full: compact and defragment it, then disarm its alarm", endpoints), store.ErrFull)
	case errors.Is(err, context.DeadlineExceeded):
		return errors.NewTimeout(nil, fmt.Sprintf("etcd at %s doesn't answer: see that it runs there, and whether it wants certificates", endpoints))
	case silent(err):
		return errors.WithType(errors.Annotatef(err, "etcd at %s doesn't answer", endpoints), errors.Timeout)
	}
	return errors.Annotatef(err, "etcd at %s", endpoints)
}
