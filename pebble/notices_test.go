package pebble_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
)

func add(t *testing.T, c *pebble.Client, key string) string {
	t.Helper()
	return value[string](t)(c.AddNotice(t.Context(), pebble.NewNotice{Key: key}))
}

func customs(t *testing.T, c *pebble.Client, q pebble.NoticesQuery) []pebble.Notice {
	t.Helper()
	q.Types = []string{pebble.NoticeCustom}
	return value[[]pebble.Notice](t)(c.Notices(t.Context(), q))
}

func TestANoticeIsReadWithItsData(t *testing.T) { // K-066
	t.Parallel()
	p, c := start(t, pebbletest.Options{})
	must(t, p.Notify("example.com/a", "k=v", "x=y z"))
	n := customs(t, c, pebble.NoticesQuery{})
	if len(n) != 1 || n[0].Key != "example.com/a" || n[0].Data["k"] != "v" || n[0].Data["x"] != "y z" || n[0].User == nil || int(*n[0].User) != os.Getuid() ||
		n[0].Occurrences != 1 || !n[0].LastRepeated.Equal(n[0].FirstOccurred) || n[0].ExpireAfter != 7*24*time.Hour {
		t.Fatalf("there are %+v", n)
	}
	if by := value[pebble.Notice](t)(c.Notice(t.Context(), n[0].ID)); by.Key != n[0].Key || by.Data["k"] != "v" {
		t.Errorf("by its id it is %+v", by)
	}
}

func TestTheSameKeyIsOneNoticeThatIsRepeated(t *testing.T) { // K-067, K-068
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	id := add(t, c, "example.com/a")
	first := customs(t, c, pebble.NoticesQuery{})[0]
	for range 2 {
		if again := add(t, c, "example.com/a"); again != id {
			t.Errorf("it has the id %s, and had %s", again, id)
		}
	}
	n := customs(t, c, pebble.NoticesQuery{After: first.LastRepeated})
	if len(n) != 1 || n[0].ID != id || n[0].Occurrences != 3 || !n[0].LastRepeated.After(first.LastRepeated) {
		t.Errorf("there are %+v", n)
	}
	if later := customs(t, c, pebble.NoticesQuery{After: n[0].LastRepeated}); len(later) != 0 {
		t.Errorf("after it there are %+v", later)
	}
}

func TestANoticeWithRepeatAfterIsNoNewsUntilThen(t *testing.T) { // K-069
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	for range 2 {
		value[string](t)(c.AddNotice(t.Context(), pebble.NewNotice{Key: "example.com/a", RepeatAfter: time.Hour, Data: map[string]string{"k": "v"}}))
	}
	n := customs(t, c, pebble.NoticesQuery{})
	if len(n) != 1 || n[0].Occurrences != 2 || !n[0].LastRepeated.Equal(n[0].FirstOccurred) || n[0].RepeatAfter != time.Hour || n[0].Data["k"] != "v" {
		t.Errorf("there are %+v", n)
	}
}

func TestNoticesComeInOrder(t *testing.T) { // K-070
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	for _, key := range []string{"c", "a", "b", "c"} {
		add(t, c, "example.com/"+key)
	}
	var keys []string
	for _, n := range customs(t, c, pebble.NoticesQuery{}) {
		keys = append(keys, n.Key)
	}
	if want := []string{"example.com/a", "example.com/b", "example.com/c"}; !slices.Equal(keys, want) {
		t.Errorf("they come as %v", keys)
	}
	if some := customs(t, c, pebble.NoticesQuery{Keys: []string{"example.com/a", "example.com/c"}}); len(some) != 2 {
		t.Errorf("of two keys there are %+v", some)
	}
}

func TestABadNoticeIsRefused(t *testing.T) { // K-077
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	for what, n := range map[string]pebble.NewNotice{
		"a bad key":      {Key: "foo"},
		"too long a key": {Key: "example.com/" + strings.Repeat("a", 256)},
		"too much data":  {Key: "example.com/a", Data: map[string]string{"k": strings.Repeat("v", 4096)}},
	} {
		var refused *pebble.APIError
		if _, err := c.AddNotice(t.Context(), n); !errors.As(err, &refused) || refused.Status != 400 || refused.Message == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := customs(t, c, pebble.NoticesQuery{}); len(n) != 0 {
		t.Errorf("there are %+v", n)
	}
}

func TestNoticesAreWaitedFor(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	if n := customs(t, c, pebble.NoticesQuery{Wait: 20 * time.Millisecond}); len(n) != 0 {
		t.Errorf("there are %+v", n)
	}
	came := make(chan []pebble.Notice)
	go func() {
		n, _ := c.Notices(t.Context(), pebble.NoticesQuery{Wait: time.Hour, Types: []string{pebble.NoticeCustom}})
		came <- n
	}()
	add(t, c, "example.com/a")
	if n := <-came; len(n) != 1 {
		t.Errorf("there are %+v", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.Notices(ctx, pebble.NoticesQuery{Wait: time.Hour, After: time.Now().Add(time.Hour)})
		ended <- err
	}()
	cancel()
	wantError(t, "a wait that is given up", <-ended, context.Canceled)
}

// notices is a state file with custom notices of those users at those times, one
// after the other. The times are seconds before now.
func notices(of ...struct {
	user   string
	before time.Duration
}) string {
	var all []string
	now := time.Now().UTC().Truncate(time.Second)
	for i, n := range of {
		at := now.Add(-n.before).Format(time.RFC3339Nano)
		all = append(all, fmt.Sprintf(`{"id":"%d","user-id":%s,"type":"custom","key":"example.com/n%[1]d","first-occurred":"%[3]s","last-occurred":"%[3]s",
			"last-repeated":"%[3]s","occurrences":1,"expire-after":"168h0m0s"}`, i+1, n.user, at))
	}
	return fmt.Sprintf(`{"data":{},"changes":{},"tasks":{},"last-change-id":0,"last-task-id":0,"last-lane-id":0,"last-notice-id":%d,"notices":[%s]}`,
		len(of), strings.Join(all, ","))
}

type given = struct {
	user   string
	before time.Duration
}

func TestANoticeOfMoreThanSevenDaysIsForgotten(t *testing.T) { // K-072
	t.Parallel()
	uid := fmt.Sprint(os.Getuid())
	_, c := start(t, pebbletest.Options{State: notices(given{uid, 7*24*time.Hour + time.Minute}, given{uid, 6 * 24 * time.Hour})})
	if n := customs(t, c, pebble.NoticesQuery{}); len(n) != 1 || n[0].Key != "example.com/n2" {
		t.Errorf("there are %+v", n)
	}
}

func TestNoticesOfAllUsersAreReadWhereThatIsAllowed(t *testing.T) { // K-076
	t.Parallel()
	_, c := start(t, pebbletest.Options{State: notices(given{"1001", time.Minute}, given{fmt.Sprint(os.Getuid()), time.Second})})
	if n := customs(t, c, pebble.NoticesQuery{}); len(n) != 1 {
		t.Errorf("of this user there are %+v", n)
	}
	n := customs(t, c, pebble.NoticesQuery{Everyones: true})
	if len(n) != 2 || n[0].User == nil || *n[0].User != 1001 {
		t.Errorf("of all users there are %+v", n)
	}
}

func TestNoticesOfAllUsersAreThisUsersWhereItIsNoAdmin(t *testing.T) {
	t.Parallel()
	identities := t.TempDir() + "/identities.yaml"
	must(t, os.WriteFile(identities, []byte(fmt.Sprintf("identities: {me: {access: read, local: {user-id: %d}}}", os.Getuid())), 0o600))
	_, c := start(t, pebbletest.Options{
		State: notices(given{"54321", time.Minute}, given{fmt.Sprint(os.Getuid()), time.Second}), Args: []string{"--identities", identities},
	})
	for { // Pebble takes the identities in after it has begun to listen
		_, err := c.Plan(t.Context())
		if errors.Is(err, errors.Unauthorized) {
			break
		}
		must(t, err)
	}
	for range 2 {
		if n := customs(t, c, pebble.NoticesQuery{Everyones: true}); len(n) != 1 || n[0].Key != "example.com/n2" {
			t.Errorf("there are %+v", n)
		}
	}
}
