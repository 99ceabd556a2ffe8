package resolver_test

import (
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// TestAnAgentThatStartsWaitsNoLongerThanItsBackOff reads a journal that was
// written by a clock that was ahead, or behind: what was to be waited for is
// waited for, at most once more.
func TestAnAgentThatStartsWaitsNoLongerThanItsBackOff(t *testing.T) {
	t.Parallel()
	const spread = time.Duration(float64(20*time.Second) * (1 + resolver.RetrySpread))
	for _, tt := range []struct {
		name       string
		left, want time.Duration
	}{
		{"the clock is right", 7 * time.Second, 7 * time.Second},
		{"its time has come meanwhile", -time.Minute, -time.Minute},
		{"the clock was 26 hours ahead", 26 * time.Hour, spread},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := resolver.Local{Charm: "c", Current: &resolver.Current{
				Hook: hooks.Info{Kind: hooks.Install}, Run: 1, Step: resolver.Failed, Attempts: 3, RetryAt: noon.Add(tt.left),
			}}
			if got := resolver.Resume(l, "c", noon).Current.RetryAt.Sub(noon); got != tt.want {
				t.Errorf("it is run again in %s, want %s", got, tt.want)
			}
			if !l.Current.RetryAt.Equal(noon.Add(tt.left)) {
				t.Error("what was given has changed")
			}
		})
	}
	l := resolver.Local{
		Charm: "c", Started: true, StatusAt: noon.Add(26 * time.Hour),
		Secrets: map[model.SecretID]resolver.SecretTold{"s": {Rotated: noon.Add(26 * time.Hour)}},
		Again: []resolver.Again{
			{Hook: hooks.Info{Kind: hooks.ConfigChanged}, Requeue: model.Requeue{At: noon.Add(26 * time.Hour)}, Wait: time.Minute},
			{Hook: hooks.Info{Kind: hooks.UpgradeCharm}, Requeue: model.Requeue{At: noon.Add(time.Hour)}},
		},
	}
	got := resolver.Resume(l, "c", noon)
	if !got.StatusAt.Equal(noon) || !got.Secrets["s"].Rotated.Equal(noon) {
		t.Errorf("update-status ran at %s, secret-rotate at %s", got.StatusAt, got.Secrets["s"].Rotated)
	}
	if !got.Again[0].At.Equal(noon.Add(time.Minute)) || !got.Again[1].At.Equal(noon.Add(time.Hour)) {
		t.Errorf("what has asked for it runs again at %s and %s", got.Again[0].At, got.Again[1].At)
	}
}

// TestTheClockDoesNotCountWhileAnAgentRuns: what an agent waits for goes by the
// time that has passed since it started, whatever the clock shows then.
func TestTheClockDoesNotCountWhileAnAgentRuns(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := resolver.Local{Charm: "c", Current: &resolver.Current{
		Hook: hooks.Info{Kind: hooks.Install}, Run: 1, Step: resolver.Failed, Attempts: 1, RetryAt: now.Round(0).Add(3 * time.Second),
	}}
	at := resolver.Resume(l, "c", now).Current.RetryAt
	if at == at.Round(0) {
		t.Errorf("%v is a date, and says nothing of the time that has passed", at)
	}
}
