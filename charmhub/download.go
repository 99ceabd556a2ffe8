package charmhub

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/juju/errors"
)

// maxUnsaid is how long a download may be whose size the hub doesn't say.
const maxUnsaid = 4 << 30

// Fetch has a charm or bundle in the cache, and returns its path there. It stays there
// until the cache lets go. What is there already isn't fetched. The error is NotValid for
// content that isn't what the hub has said.
func (c *Client) Fetch(ctx context.Context, r Release) (string, error) {
	return c.fetch(ctx, r.Download, Kept{Kind: r.Type, Name: r.Name, Revision: r.Revision})
}

// FetchResource is Fetch for a resource of a charm.
func (c *Client) FetchResource(ctx context.Context, charm string, r Resource) (string, error) {
	return c.fetch(ctx, r.Download, Kept{Kind: resourceKind, Name: charm, Resource: r.Name, Revision: r.Revision})
}

func (c *Client) fetch(ctx context.Context, d Download, k Kept) (string, error) {
	if err := d.check(); err != nil {
		return "", err
	}
	k.Key = d.key(k.Kind)
	if path := c.Cache.use(d, k.Kind); path != "" {
		return path, nil
	}
	what := fmt.Sprintf("%s %q revision %d", k.Kind, k.Title(), k.Revision)
	if c.Offline {
		return "", unreachable(c.URL, fmt.Sprintf("--offline was given, and %s isn't in the cache", what))
	}
	err := c.try(ctx, func() *failed { return c.fetchOnce(ctx, d, k) })
	if err != nil {
		return "", errors.Annotatef(err, "cannot download %s", what)
	}
	path := c.Cache.use(d, k.Kind)
	if path == "" {
		return "", errors.Errorf("cannot download %s: it was removed from the cache at once", what)
	}
	return path, nil
}

// fetchOnce tries once. What has come in part isn't kept.
func (c *Client) fetchOnce(ctx context.Context, d Download, k Kept) *failed {
	f, err := c.Cache.temp(filesDir)
	if err != nil {
		return &failed{err: err}
	}
	defer os.Remove(f.Name())
	defer f.Close()
	moving, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := c.Clock.AfterFunc(stallTime, cancel)
	defer timer.Stop()
	stalled := func() *failed {
		if moving.Err() == nil || ctx.Err() != nil {
			return nil
		}
		return &failed{err: unreachable(c.URL, fmt.Sprintf("nothing has come for %s", stallTime))}
	}
	resp, fault := c.send(moving, http.MethodGet, d.URL, nil)
	if fault != nil {
		if f := stalled(); f != nil {
			return f
		}
		return fault
	}
	defer resp.Body.Close()
	if fault := c.located(resp); fault != nil {
		return fault
	}
	h := newHashes()
	most := d.Size
	if most == 0 {
		most = maxUnsaid
	}
	in := &told{r: io.LimitReader(resp.Body, most+1), tell: func(done int64) {
		timer.Reset(stallTime)
		if c.Progress != nil {
			c.Progress(k.Title(), done, d.Size)
		}
	}}
	n, err := io.Copy(io.MultiWriter(f, h.writer()), in)
	switch {
	case stalled() != nil:
		return stalled()
	case in.err != nil:
		return c.broken(in.err)
	case err != nil:
		return &failed{err: errors.Annotate(err, "cannot write to the cache of charms")}
	case n > most:
		return &failed{err: notValid("it is longer than the %d bytes that the hub has said", most)}
	case d.Size > 0 && n < d.Size:
		return &failed{err: unreachable(c.URL, fmt.Sprintf("the download ended after %d of %d bytes", n, d.Size)), eof: true, again: eofWait}
	case !h.fit(d):
		return &failed{err: errors.WithType(notValid("its content has another hash than the hub has said"), ErrHash)}
	}
	k.SHA256, k.Size = h.sum(), n
	if err := c.Cache.put(f, k); err != nil {
		return &failed{err: err}
	}
	return nil
}

// ErrHash is content that isn't what the hub has said.
const ErrHash = errors.ConstError("wrong hash")

// located says what is wrong with the answer to a download by its status.
// Source: docs/spec/juju-clients.md §12.1.
func (c *Client) located(resp *http.Response) *failed {
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound:
		return &failed{err: errors.NewNotFound(nil, "archive not found")}
	case busy(code):
		return &failed{err: unreachable(c.URL, "it says "+resp.Status), again: c.retryAfter(resp)}
	}
	return &failed{err: errors.Errorf("unable to locate archive (store API responded with status: %s)", resp.Status)}
}

// told reads, and tells how far it is.
type told struct {
	r    io.Reader
	tell func(done int64)
	done int64
	err  error // of reading
}

// Read is part of io.Reader.
func (t *told) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	t.done += int64(n)
	t.tell(t.done)
	if err != nil && err != io.EOF {
		t.err = err
	}
	return n, err
}
