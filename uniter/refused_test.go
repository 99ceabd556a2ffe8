package uniter

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
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
// few minutes; where the model says that it can't be reached, more time is of no use.
func TestACommitThatRunsOutOfTimeGetsMoreOfIt(t *testing.T) {
	t.Parallel()
	late := errors.WithType(errors.Annotate(context.DeadlineExceeded, "cannot read"), ErrUnreachable)
	away := errors.WithType(errors.New("it doesn't answer"), ErrUnreachable)
	answers := []error{away, late, late, away, late, late, late, late, late, nil}
	want := []time.Duration{15, 15, 30, 60, 60, 120, 240, 240, 240, 240}
	var got []time.Duration
	a := &agent{Config: Config{Clock: hasty{clock.WallClock}, Log: slog.New(slog.DiscardHandler), Hope: func() <-chan struct{} { return nil }}}
	err := a.commit(t.Context(), Run{}, func(ctx context.Context) error {
		until, ok := ctx.Deadline()
		if !ok {
			t.Error("a try has no bound")
		}
		// The clock has gone on since, by less than half of the least step on any host.
		got = append(got, (time.Until(until)+7*time.Second)/(15*time.Second)*15)
		return answers[len(got)-1]
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the tries had %d seconds and %v, want %d", got, err, want)
	}
}
