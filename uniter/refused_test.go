package uniter

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/juju/clock"
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

// hasty is a clock by which all waits are over at once.
type hasty struct{ clock.Clock }

func (hasty) After(time.Duration) <-chan time.Time {
	over := make(chan time.Time, 1)
	over <- time.Time{}
	return over
}

// TestACommitWaitsForAModelThatDoesNotAnswer, and is tried a few times where it does,
// with an error that isn't about what the hook wrote.
func TestACommitWaitsForAModelThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	late, broken := errors.Annotate(context.DeadlineExceeded, "cannot read"), errors.New("it is broken")
	full := errors.WithType(errors.New("the disk is full"), ErrUnreachable)
	for name, row := range map[string]struct {
		answers []error // the last is given again and again
		tries   int
		want    error
	}{
		"a model that is there":             {[]error{nil}, 1, nil},
		"one that refuses":                  {[]error{errors.NotValid}, 1, errors.NotValid},
		"one that answers in the end":       {[]error{late, late, late, late, late, late, late, nil}, 8, nil},
		"one that can't be written to":      {[]error{full, full, full, full, full, full, full, nil}, 8, nil},
		"one that fails":                    {[]error{broken}, commitTries, broken},
		"one that doesn't answer and fails": {[]error{late, late, broken, late, broken}, commitTries + 3, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &agent{Config: Config{Clock: hasty{clock.WallClock}, Log: slog.New(slog.DiscardHandler), Hope: func() <-chan struct{} { return nil }}}
			tries := 0
			err := a.commit(t.Context(), Run{}, func(context.Context) error {
				tries++
				return row.answers[min(tries, len(row.answers))-1]
			})
			if tries != row.tries || !errors.Is(err, row.want) {
				t.Errorf("%d tries and %v, want %d and %v", tries, err, row.tries, row.want)
			}
		})
	}
}

// TestACommitThatRunsOutOfTimeGetsMoreOfIt: each further try has twice the time, up to a
// few minutes; where the model says that it can't be reached, more time is of no use. An
// agent that stops meanwhile gives up sooner.
func TestACommitThatRunsOutOfTimeGetsMoreOfIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errors.WithType(errors.New("it doesn't answer"), ErrUnreachable)
		a := &agent{Config: Config{Clock: clock.WallClock, Log: slog.New(slog.DiscardHandler), Hope: func() <-chan struct{} { return nil }}}
		var took []time.Duration
		ctx, stop := context.WithCancel(t.Context())
		err := a.commit(ctx, Run{}, func(ctx context.Context) error {
			if len(took) == 2 {
				took = append(took, 0)
				return away
			}
			if len(took) == 8 {
				time.AfterFunc(10*time.Second, stop)
			}
			began := time.Now()
			<-ctx.Done()
			took = append(took, time.Since(began)/time.Second)
			return errors.WithType(errors.Annotate(ctx.Err(), "cannot read"), ErrUnreachable)
		})
		if want := []time.Duration{15, 30, 0, 60, 120, 240, 240, 240, 25}; !errors.Is(err, ErrUnreachable) || !slices.Equal(took, want) {
			t.Errorf("the tries took %d seconds, want %d (%v)", took, want, err)
		}
	})
}
