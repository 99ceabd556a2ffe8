package oci

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/juju/errors"
)

// registry is an origin.
type registry struct {
	ref    name.Reference
	puller *remote.Puller
}

func openRegistry(ctx context.Context, s Source) (*registry, error) {
	ref, err := name.ParseReference(s.Reference.Name)
	if err != nil {
		return nil, notValid(s.Reference.Name, "")
	}
	login := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	if s.Username != "" || s.Password != "" {
		login = remote.WithAuth(&authn.Basic{Username: s.Username, Password: s.Password})
	}
	p, err := remote.NewPuller(login, remote.WithContext(ctx), remote.WithUserAgent("unitd"), remote.WithTransport(tlsOnly{remote.DefaultTransport}))
	return &registry{ref: ref, puller: p}, errors.Trace(err)
}

func (r *registry) root(ctx context.Context) ([]byte, error) {
	d, err := r.puller.Get(ctx, r.ref)
	if err != nil {
		return nil, r.explain(err)
	}
	return d.Manifest, nil
}

func (r *registry) open(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	ref := r.ref.Context().Digest(d.Digest.String())
	if d.MediaType.IsImage() || d.MediaType.IsIndex() {
		got, err := r.puller.Get(ctx, ref)
		if err != nil {
			return nil, r.explain(err)
		}
		return io.NopCloser(strings.NewReader(string(got.Manifest))), nil
	}
	// Not by the image's manifest: that could name other places to fetch it from.
	l, err := r.puller.Layer(ctx, ref)
	if err != nil {
		return nil, r.explain(err)
	}
	body, err := l.Compressed()
	return body, r.explain(err)
}

func (r *registry) Close() error { return nil }

// explain gives the errors of registries their types: NotFound, Unauthorized.
func (r *registry) explain(err error) error {
	var of *transport.Error
	if !errors.As(err, &of) {
		return errors.Annotatef(err, "cannot get %s", r.ref)
	}
	switch of.StatusCode {
	case http.StatusNotFound:
		return errors.NewNotFound(nil, r.ref.String()+" isn't in its registry")
	case http.StatusUnauthorized, http.StatusForbidden:
		// Registries say so of what isn't there as well.
		return errors.NewUnauthorized(nil, r.ref.String()+" is refused by its registry: it isn't there, or needs a username and password (docker login, or the resource's file)")
	}
	return errors.Errorf("cannot get %s: %s", r.ref, visibleText(oneLine(of)))
}

// tlsOnly lets nobody but this host do without TLS: the library would with any
// address that looks private, where others may listen.
type tlsOnly struct{ http.RoundTripper }

func (t tlsOnly) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.Scheme != "https" && !loopback(q.URL.Hostname()) {
		return nil, errors.NewNotSupported(nil, "registry "+q.URL.Host+" has no TLS: only one on this host may do without")
	}
	return t.RoundTripper.RoundTrip(q)
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
