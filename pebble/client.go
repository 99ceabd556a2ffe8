package pebble

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/juju/errors"
)

const (
	// patience is a Client's unless it has another: that of the Ops client.
	patience = 5 * time.Second
	// slice is how long Pebble is asked to wait for a change at a time, so that
	// one that hangs is noticed.
	slice = 4 * time.Second
	// maxHeader bounds an answer's header.
	maxHeader = 64 << 10
)

// Client asks one Pebble. It may be used by many at once.
type Client struct {
	// Patience is how long a call waits for what depends on Pebble alone.
	// Source: docs/spec/containers.md §4.7 (the Ops client's timeout).
	Patience time.Duration

	http *http.Client
	// notAdmin is set once Pebble has refused what only its admins may ask.
	notAdmin atomic.Bool
}

// New makes a client of the Pebble that listens at the socket, now or later. It
// doesn't connect: there is nothing to close.
func New(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, socket) }
	return &Client{
		Patience: patience,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext: dial,
				// A kept connection would tell of who listened once.
				DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// question is one call of the API.
type question struct {
	method string // GET if empty
	path   string
	query  url.Values
	body   any           // sent as JSON; nil for none
	takes  time.Duration // what Pebble is asked to take, beside the client's patience
}

// ask makes one call and puts its result, if there is one, into the value that
// result points to. It returns the id of the change that the call began; empty
// where it began none.
func (c *Client) ask(ctx context.Context, q question, result any) (change string, err error) {
	inner, cancel := context.WithTimeoutCause(ctx, q.takes+c.Patience, ErrNoAnswer)
	defer cancel()
	resp, err := c.send(inner, q)
	if err != nil {
		return "", classify(ctx, inner, err)
	}
	defer resp.Body.Close()
	a, err := readAnswer(resp.Body)
	if err == nil {
		err = a.into(result)
	}
	return a.Change, classify(ctx, inner, err)
}

// send sends a question. The caller closes the answer's body.
func (c *Client) send(ctx context.Context, q question) (*http.Response, error) {
	var body io.Reader
	if q.body != nil {
		raw, err := json.Marshal(q.body)
		if err != nil {
			return nil, errors.Trace(err)
		}
		body = bytes.NewReader(raw)
	}
	return c.sendBody(ctx, q, "application/json", body)
}

func (c *Client) sendBody(ctx context.Context, q question, contentType string, body io.Reader) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: "pebble", Path: q.path, RawQuery: q.query.Encode()}
	req, err := http.NewRequestWithContext(ctx, q.method, u.String(), body)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	if q.query.Get("action") == "read" {
		req.Header.Set("Accept", "multipart/form-data")
	}
	resp, err := c.http.Do(req)
	return resp, errors.Trace(err)
}

// SystemInfo is who answers.
type SystemInfo struct {
	// Boot is new each time that Pebble starts as the first process of a pid
	// namespace; elsewhere it is the host's. It is never empty.
	// Source: docs/spec/containers.md §4.4.
	Boot string `json:"boot-id"`
	// Version is Pebble's, as "v1.32.1".
	Version string `json:"version"`
}

// SystemInfo asks who answers. Everybody may ask.
func (c *Client) SystemInfo(ctx context.Context) (SystemInfo, error) {
	var info SystemInfo
	if _, err := c.ask(ctx, question{path: "/v1/system-info"}, &info); err != nil {
		return SystemInfo{}, errors.Trace(err)
	}
	if info.Boot == "" {
		return SystemInfo{}, garbage("system-info has no boot id")
	}
	return info, nil
}

// list puts names into a query, as Pebble splits them.
func list(query url.Values, key string, names []string) url.Values {
	if len(names) > 0 {
		query.Set(key, strings.Join(names, ","))
	}
	return query
}
