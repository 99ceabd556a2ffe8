package pebble

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/juju/errors"
)

// Types of notices.
const (
	// NoticeCustom is what a workload says by "pebble notify".
	NoticeCustom = "custom"
	// NoticeChange tells that a change has a new status; its key is the
	// change's id.
	NoticeChange = "change-update"
	// NoticeWarning is a warning of Pebble's.
	NoticeWarning = "warning"
)

// Notice is one thing that Pebble tells of, however often it has occurred.
// Source: docs/spec/containers.md §4.6 b.
type Notice struct {
	ID string
	// User is who gave it; nil for notices to everybody.
	User *uint32
	Type string
	Key  string

	FirstOccurred, LastOccurred time.Time
	// LastRepeated is when it was last news: at its first occurrence, and at each
	// later one that RepeatAfter didn't hold back. Notices are ordered by it.
	LastRepeated time.Time
	Occurrences  int
	// Data are the last occurrence's.
	Data map[string]string
	// RepeatAfter is how long later occurrences are no news; 0 for not at all.
	RepeatAfter time.Duration
	// ExpireAfter is how long after its last occurrence Pebble forgets it.
	ExpireAfter time.Duration
}

// UnmarshalJSON reads Pebble's form of a notice.
func (n *Notice) UnmarshalJSON(raw []byte) error {
	var j struct {
		ID            string            `json:"id"`
		User          *uint32           `json:"user-id"`
		Type          string            `json:"type"`
		Key           string            `json:"key"`
		FirstOccurred time.Time         `json:"first-occurred"`
		LastOccurred  time.Time         `json:"last-occurred"`
		LastRepeated  time.Time         `json:"last-repeated"`
		Occurrences   int               `json:"occurrences"`
		Data          map[string]string `json:"last-data"`
		RepeatAfter   string            `json:"repeat-after"`
		ExpireAfter   string            `json:"expire-after"`
	}
	if err := json.Unmarshal(raw, &j); err != nil {
		return errors.Trace(err)
	}
	if j.ID == "" || j.Type == "" || j.Key == "" || j.LastRepeated.IsZero() {
		return errors.NotValidf("notice without an id, a type, a key or a time")
	}
	*n = Notice{
		ID: j.ID, User: j.User, Type: j.Type, Key: j.Key,
		FirstOccurred: j.FirstOccurred, LastOccurred: j.LastOccurred, LastRepeated: j.LastRepeated,
		Occurrences: j.Occurrences, Data: j.Data,
	}
	for text, into := range map[string]*time.Duration{j.RepeatAfter: &n.RepeatAfter, j.ExpireAfter: &n.ExpireAfter} {
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.Trace(err)
		}
		*into = d
	}
	return nil
}

// NoticesQuery says which notices are asked for.
type NoticesQuery struct {
	// After leaves out what wasn't repeated later than this; zero for none.
	After time.Time
	// Wait is how long Pebble is to wait for one if there is none; zero for not at
	// all.
	Wait time.Duration
	// Types are those wanted; none for all.
	Types []string
	// Keys are those wanted; none for all.
	Keys []string
	// Everyones asks for the notices of all users, where this one may; else, as
	// where it is false, for those of this user and those to everybody.
	Everyones bool
}

// Notices returns the notices in the order of LastRepeated; none if there are
// none, also after having waited.
func (c *Client) Notices(ctx context.Context, q NoticesQuery) ([]Notice, error) {
	query := url.Values{}
	if !q.After.IsZero() {
		query.Set("after", q.After.UTC().Format(time.RFC3339Nano))
	}
	if q.Wait > 0 {
		query.Set("timeout", q.Wait.String())
	}
	list(query, "types", q.Types)
	list(query, "keys", q.Keys)
	if q.Everyones && !c.notAdmin.Load() {
		query.Set("users", "all")
	}
	var notices []Notice
	_, err := c.ask(ctx, question{path: "/v1/notices", query: query, takes: q.Wait}, &notices)
	if errors.Is(err, errors.Forbidden) && query.Has("users") {
		c.notAdmin.Store(true)
		return c.Notices(ctx, q)
	}
	return notices, errors.Trace(err)
}

// Notice returns the notice with that id. It matches errors.NotFound if there is
// none.
func (c *Client) Notice(ctx context.Context, id string) (Notice, error) {
	var n Notice
	_, err := c.ask(ctx, question{path: "/v1/notices/" + url.PathEscape(id)}, &n)
	return n, errors.Trace(err)
}

// NewNotice is a custom notice to be given.
type NewNotice struct {
	// Key has the form "example.com/path", in lower case.
	Key string
	// RepeatAfter is for how long further occurrences are no news; zero for not
	// at all.
	RepeatAfter time.Duration
	Data        map[string]string
}

// AddNotice gives a custom notice as this user and returns its id. Any user may.
// Pebble refuses a bad key, or more than 4 KiB of data, by an APIError.
func (c *Client) AddNotice(ctx context.Context, n NewNotice) (id string, err error) {
	body := map[string]any{"action": "add", "type": NoticeCustom, "key": n.Key}
	if n.RepeatAfter > 0 {
		body["repeat-after"] = n.RepeatAfter.String()
	}
	if len(n.Data) > 0 {
		body["data"] = n.Data
	}
	var added struct{ ID string }
	_, err = c.ask(ctx, question{method: "POST", path: "/v1/notices", body: body}, &added)
	return added.ID, errors.Trace(err)
}
