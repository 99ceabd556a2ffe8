package charmhub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"
)

// DefaultURL is that of the public hub.
const DefaultURL = "https://api.charmhub.io"

// How long a client waits, and how often it tries.
// Source: docs/spec/juju-clients.md §12.1.
const (
	callTime  = 10 * time.Second // a question
	stallTime = time.Minute      // between two pieces of a download
	retryWait = 10 * time.Second
	retryMost = 10 * time.Minute // of what Retry-After says
	eofWait   = 3 * time.Second
	attempts  = 3
)

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 64 << 20

// Client asks a hub; New makes one. All fields up to Cache have to be set. It is safe for use by one goroutine at a time.
type Client struct {
	// URL is the hub's, without a slash at its end.
	URL  string
	HTTP http.RoundTripper
	// Clock is what is waited by.
	Clock clock.Clock
	// Agent is what the client calls itself.
	Agent string
	// Architecture is that of this host, in the hub's words.
	Architecture string
	// Cache keeps what was fetched and what was answered.
	Cache *Cache
	// Offline: nothing is asked.
	Offline bool
	// Note is told in a line what a person should know: that the client waits, or what
	// it takes instead of an answer. Nil: nobody is told.
	Note func(format string, args ...any)
	// Progress is told how far a download is. Nil: nobody is told.
	Progress func(what string, done, size int64)
	// HowElse ends the error of a hub that can't be reached: what a person can do.
	HowElse string
}

// New is a client of the hub with that URL. A proxy is taken from the environment. The
// caller sets Architecture and Cache.
func New(url string) *Client {
	return &Client{
		URL: strings.TrimRight(url, "/"), Clock: clock.WallClock, Agent: "unitd",
		HTTP: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: callTime / 2}).DialContext,
			TLSHandshakeTimeout:   callTime,
			ResponseHeaderTimeout: callTime,
			ForceAttemptHTTP2:     true,
			IdleConnTimeout:       time.Minute,
		},
	}
}

func (c *Client) note(format string, args ...any) {
	if c.Note != nil {
		c.Note(format, args...)
	}
}

// path is the URL of something of the API.
func (c *Client) path(elements ...string) string {
	escaped := make([]string, len(elements))
	for i, e := range elements {
		escaped[i] = url.PathEscape(e)
	}
	return c.URL + "/v2/charms/" + strings.Join(escaped, "/")
}

// failed is why one try has failed, and whether there is to be another one.
type failed struct {
	err   error
	again time.Duration // when; 0: never
	eof   bool          // an empty answer, of which one is forgiven
}

// try does once what is tried until it succeeds, or fails for good.
func (c *Client) try(ctx context.Context, once func() *failed) error {
	for n, eofs := 1, 0; ; n++ {
		f := once()
		switch {
		case f == nil:
			return nil
		case ctx.Err() != nil:
			return errors.Trace(ctx.Err())
		case f.eof:
			if eofs++; eofs > 1 {
				return f.err
			}
		case f.again == 0 || n >= attempts:
			return f.err
		default:
			c.note("%v; trying again in %s", f.err, f.again)
		}
		select {
		case <-c.Clock.After(f.again):
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		}
	}
}

// ask asks once, or more often where that helps, and returns the answer. The error is
// ErrUnreachable where there is none, NotFound where the answer is that.
func (c *Client) ask(ctx context.Context, method, url string, question any) ([]byte, error) {
	if c.Offline {
		return nil, c.orElse(unreachable(c.URL, "--offline was given"))
	}
	var body []byte
	if question != nil {
		var err error
		if body, err = json.Marshal(question); err != nil {
			return nil, errors.Trace(err)
		}
	}
	var got []byte
	err := c.try(ctx, func() (f *failed) {
		got, f = c.askOnce(ctx, method, url, body)
		return f
	})
	return got, c.orElse(err)
}

// orElse is an error with what a person can do about it.
func (c *Client) orElse(err error) error {
	if !errors.Is(err, ErrUnreachable) || c.HowElse == "" {
		return err
	}
	return errors.WithType(fmt.Errorf("%w; %s", err, c.HowElse), ErrUnreachable)
}

func (c *Client) askOnce(ctx context.Context, method, url string, body []byte) ([]byte, *failed) {
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := c.Clock.AfterFunc(callTime, cancel)
	defer timer.Stop()
	late := func() bool { return asked.Err() != nil && ctx.Err() == nil }
	resp, f := c.send(asked, method, url, body)
	if f != nil {
		if late() {
			f = &failed{err: unreachable(c.URL, fmt.Sprintf("no answer within %s", callTime))}
		}
		return nil, f
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case late():
		return nil, &failed{err: unreachable(c.URL, fmt.Sprintf("no whole answer within %s", callTime))}
	case err != nil:
		return nil, c.broken(err)
	case len(got) > maxAnswer:
		return nil, &failed{err: notValid("the answer of %s is longer than %d MiB", c.URL, maxAnswer>>20)}
	}
	return got, c.judge(resp, url, got)
}

// send sends a request.
func (c *Client) send(ctx context.Context, method, url string, body []byte) (*http.Response, *failed) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, &failed{err: errors.Annotatef(err, "cannot ask %s", c.URL)}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.Agent)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Transport: c.HTTP}).Do(req)
	if err != nil {
		return nil, c.broken(err)
	}
	return resp, nil
}

// broken is a request that has ended without an answer.
func (c *Client) broken(err error) *failed {
	why := err
	var asked *url.Error
	if errors.As(err, &asked) {
		why = asked.Err
	}
	f := &failed{err: unreachable(c.URL, strings.Join(strings.Fields(why.Error()), " "))}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		f.eof, f.again = true, eofWait
		f.err = unreachable(c.URL, "the answer ended early")
	}
	return f
}

// judge says what is wrong with an answer by its status and type.
// Source: docs/spec/juju-clients.md §12.1.
func (c *Client) judge(resp *http.Response, url string, got []byte) *failed {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isJSON := kind == "application/json"
	switch code := resp.StatusCode; {
	case busy(code):
		return &failed{err: unreachable(c.URL, fmt.Sprintf("server error %q (%s)", url, resp.Status)), again: c.retryAfter(resp)}
	case code >= 500:
		return &failed{err: unreachable(c.URL, fmt.Sprintf("server error %q (%s)", url, resp.Status))}
	case code == http.StatusNotFound && !isJSON:
		return &failed{err: notValid("unexpected charm-hub url %q when parsing headers", url)}
	case !isJSON:
		return &failed{err: notValid("unexpected content-type from server %q", kind)}
	case code == http.StatusNotFound:
		return &failed{err: refused(got, fault{Code: "not-found"})}
	case code > 204:
		return &failed{err: refused(got, fault{Message: "the answer is " + resp.Status})}
	}
	return nil
}

// busy says whether a status is one that passes.
func busy(code int) bool {
	switch code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter is when there is to be another try.
func (c *Client) retryAfter(resp *http.Response) time.Duration {
	text := resp.Header.Get("Retry-After")
	wait := retryWait
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(c.Clock.Now())
	}
	return min(max(wait, time.Millisecond), retryMost)
}

// refused is the error of an answer that is no as a whole; usual is what it says if it
// doesn't say anything.
func refused(got []byte, usual fault) error {
	var a answer
	if err := parse(got, &a); err == nil && len(a.Errors) > 0 {
		usual = a.Errors[0]
	}
	return usual.err("resolving error")
}
