package resolver_test

import (
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// play runs what is due until a time passes, and says when which hook ran.
func play(l resolver.Local, r resolver.Remote, until time.Time) (resolver.Local, []string) {
	var ran []string
	for n := 0; n < 100; n++ {
		op := resolver.Next(l, r)
		if op.Verb == resolver.Idle {
			if op.Until.IsZero() || op.Until.After(until) {
				return l, ran
			}
			r.Now = op.Until
			continue
		}
		l = resolver.After(l, op, resolver.Event{Kind: resolver.Began, At: r.Now})
		l = resolver.After(l, op, resolver.Event{Kind: resolver.Done, At: r.Now})
		ran = append(ran, op.Hook.Name()+" +"+r.Now.Sub(noon).String())
	}
	return l, append(ran, "and so on")
}

func withSecret(s resolver.OwnSecret) (resolver.Local, resolver.Remote) {
	l := resolver.Local{Unit: "app/0", Charm: "ch:1", Installed: true, Configured: true, Started: true}
	return l, resolver.Remote{Now: noon, Charm: "ch:1", OwnSecrets: []resolver.OwnSecret{s}}
}

// A revision that isn't removed expires again every five minutes, and not between.
func TestAnExpiredRevisionIsToldAgainUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	l, r := withSecret(resolver.OwnSecret{ID: secretID, Expiring: []resolver.Expiring{{Revision: 1, At: noon.Add(time.Minute)}}})
	l, got := play(l, r, noon.Add(12*time.Minute))
	wantStrings(t, got, "secret-expired +1m0s", "secret-expired +6m0s", "secret-expired +11m0s")
	r.OwnSecrets[0].Expiring, r.Now = nil, noon.Add(time.Hour)
	if _, got = play(l, r, noon.Add(2*time.Hour)); len(got) > 0 {
		t.Errorf("it is removed, and told: %q", got)
	}
}

// Where time passes without its update-status, what comes again doesn't come either.
func TestTimeThatPassesTellsOnceOfWhatComesAgain(t *testing.T) {
	t.Parallel()
	l, r := withSecret(resolver.OwnSecret{
		ID: secretID, Expiring: []resolver.Expiring{{Revision: 1, At: noon}},
		Rotate: "hourly", NextRotate: noon.Add(5 * time.Minute), Unrotated: true,
	})
	r.StatusPassed = noon.Add(24 * time.Hour)
	l, got := play(l, r, noon.Add(24*time.Hour))
	wantStrings(t, got, "secret-expired +0s")
	r.Now = r.StatusPassed
	_, got = play(l, r, noon.Add(24*time.Hour+5*time.Minute))
	wantStrings(t, got, "secret-expired +24h5m0s", "secret-rotate +24h5m0s")
}

// What was told of revisions and secrets that there aren't any more is forgotten
// with the next secret hook.
func TestWhatWasToldOfSecretsThatAreGoneIsForgotten(t *testing.T) {
	t.Parallel()
	l, r := withSecret(resolver.OwnSecret{ID: secretID, Obsolete: []int{4, 5}, Expiring: []resolver.Expiring{{Revision: 6, At: noon.Add(-time.Hour)}}})
	r.ReadSecrets = []resolver.ReadSecret{{ID: "read", Latest: 2, Seen: 1}}
	l.Secrets = map[model.SecretID]resolver.SecretTold{
		secretID: {Rotated: noon, Removed: []int{1, 2, 3, 4}, Expired: map[int]time.Time{1: noon, 6: noon}},
		"read":   {Changed: 2}, "gone": {Changed: 7, Removed: []int{1}},
	}
	l, got := play(l, r, noon)
	wantStrings(t, got, hooks.Info{Kind: hooks.SecretRemove}.Name()+" +0s")
	told := l.Secrets[secretID]
	if len(l.Secrets) != 2 || l.Secrets["read"].Changed != 2 || len(told.Removed) != 2 || len(told.Expired) != 1 || !told.Rotated.Equal(noon) {
		t.Errorf("it remembers %+v", l.Secrets)
	}
}

func wantStrings(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
