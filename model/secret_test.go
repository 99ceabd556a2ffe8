package model_test

import (
	"testing"
	"time"

	"github.com/unitd/unitd/model"
)

// A rotation goes by when it was due; what was missed is made up for once, and what
// has made no revision comes again after five minutes.
func TestWhenASecretIsRotatedNext(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		policy    model.RotatePolicy
		late      time.Duration // of the hook
		made      bool
		want      time.Duration // after it was due
		unrotated bool
	}{
		"in time":                               {"hourly", 0, true, time.Hour, false},
		"late":                                  {"hourly", 20 * time.Minute, true, time.Hour, false},
		"so late that others were missed":       {"hourly", 31*24*time.Hour + time.Minute, true, 31*24*time.Hour + time.Hour, false},
		"when the next one was as good as due":  {"daily", 24*time.Hour - time.Second, true, 48 * time.Hour, false},
		"monthly, from the last day of a month": {"monthly", time.Hour, true, 31 * 24 * time.Hour, false},
		"for nothing":                           {"hourly", 0, false, 5 * time.Minute, true},
		"for nothing, and late":                 {"yearly", 17 * time.Minute, false, 20 * time.Minute, true},
		"never any more":                        {"never", 0, false, 0, false},
	} {
		before := model.SecretInfo{Rotate: c.policy, NextRotate: due, Made: 1}
		after := before
		if c.made {
			after.Made = 2
		}
		got := after.Rotated(before, due.Add(c.late))
		want := due.Add(c.want)
		if c.policy == "monthly" {
			want = due.AddDate(0, 1, 0)
		}
		if c.policy == "never" {
			want = time.Time{}
		}
		if !got.NextRotate.Equal(want) || got.Unrotated != c.unrotated {
			t.Errorf("%s: next at %s, unrotated %v; want %s, %v", name, got.NextRotate, got.Unrotated, want, c.unrotated)
		}
	}
}
