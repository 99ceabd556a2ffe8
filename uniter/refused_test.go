package uniter

import (
	"fmt"
	"testing"

	"github.com/juju/errors"
)

// TestWhatTheModelRefusesIsNotTriedAgain: it would be refused each time.
func TestWhatTheModelRefusesIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		errors.NotFound: true, errors.NotValid: true, errors.AlreadyExists: true, errors.Forbidden: true,
		errors.QuotaLimitExceeded: true, ErrOvertaken: true, fmt.Errorf("the disk is full"): false, errors.Timeout: false,
	} {
		if got := refused(errors.Annotate(err, "cannot change secret")); got != want {
			t.Errorf("%v: refused %t", err, got)
		}
	}
}
