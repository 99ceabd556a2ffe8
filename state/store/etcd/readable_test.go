package etcd_test

import (
	"context"
	"testing"

	"github.com/juju/errors"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unitd/unitd/state/store/etcd"
)

// Who waits for an etcd that is down knows it by that, be its host silent or its
// port closed.
func TestAnEtcdThatIsDownDoesntAnswerInTime(t *testing.T) {
	t.Parallel()
	for err, down := range map[error]bool{
		context.DeadlineExceeded:                              true,
		status.Error(codes.Unavailable, "connection refused"): true,
		status.Error(codes.InvalidArgument, "bad"):            false,
	} {
		if got := etcd.Readable(err); errors.Is(got, errors.Timeout) != down {
			t.Errorf("of %v people read %v, a time-out: %v", err, got, !down)
		}
	}
}
