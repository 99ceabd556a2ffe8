package oci

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
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

func openRegistry(ctx context.Context, s Source, via http.RoundTripper) (*registry, error) {
	if via == nil {
		via = remote.DefaultTransport
	}
	ref, err := name.ParseReference(s.Reference.Name)
	if err != nil {
		return nil, notValid(s.Reference.Name, "")
	}
	login := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	if s.Username != "" || s.Password != "" {
		login = remote.WithAuth(&authn.Basic{Username: s.Username, Password: s.Password})
	}
	p, err := remote.NewPuller(login, remote.WithContext(ctx), remote.WithUserAgent("unitd"), remote.WithTransport(where{via, loopback(hostOf(ref))}))
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

// where bounds which hosts are asked: a registry on this host may do without TLS, and
// no other one, also not one whose address looks private, where others may listen.
// And no other one has this host's own services asked, by a redirect.
type where struct {
	http.RoundTripper
	here bool // the registry is on this host
}

func (w where) RoundTrip(q *http.Request) (*http.Response, error) {
	to := loopback(q.URL.Hostname())
	switch {
	case to && !w.here:
		return nil, errors.NewForbidden(nil, "the registry sends to "+q.URL.Host+", which is this host")
	case q.URL.Scheme != "https" && !to:
		return nil, errors.NewNotSupported(nil, "registry "+q.URL.Host+" has no TLS: only one on this host may do without")
	}
	return w.RoundTripper.RoundTrip(q)
}

func hostOf(ref name.Reference) string {
	u := url.URL{Host: ref.Context().RegistryStr()}
	return u.Hostname()
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
