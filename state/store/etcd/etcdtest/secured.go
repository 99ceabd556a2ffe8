package etcdtest

import (
	"context"
	"time"

	"github.com/juju/errors"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/unitd/unitd/state/store/etcd"
)

// Secured starts an etcd that ends with the test and lets in who shows a
// certificate of the authority, which it makes in dir. base names a store in it,
// for "&cert=FILE&key=FILE" to be added.
func Secured(t TB, dir string) (ca *Authority, base string) {
	t.Helper()
	ca = NewAuthority(t, dir)
	cert, key := ca.Sign(t, "server")
	s := Start(t, "--cert-file="+cert, "--key-file="+key, "--trusted-ca-file="+ca.CA(), "--client-cert-auth")
	return ca, "etcd://" + s.Endpoint + "/shop?ca=" + ca.CA()
}

// As is the store's URL for who has a certificate of that name.
func (a *Authority) As(t TB, base, name string) string {
	t.Helper()
	cert, key := a.Sign(t, name)
	return base + "&cert=" + cert + "&key=" + key
}

// EnableUsers makes the user root, known by its certificate, and has etcd let in
// nobody but users. url is that of a store in it.
func EnableUsers(t TB, url string) {
	t.Helper()
	if err := enableUsers(url); err != nil {
		t.Fatal(err)
	}
}

func enableUsers(url string) error {
	o, err := etcd.ParseURL(url, nil)
	if err != nil {
		return errors.Trace(err)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + o.Endpoints[0]}, TLS: o.TLS, Logger: zap.NewNop()})
	if err != nil {
		return errors.Trace(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if _, err := c.UserAddWithOptions(ctx, "root", "", &clientv3.UserAddOptions{NoPassword: true}); err != nil {
		return errors.Trace(err)
	}
	if _, err := c.UserGrantRole(ctx, "root", "root"); err != nil {
		return errors.Trace(err)
	}
	_, err = c.AuthEnable(ctx)
	return errors.Trace(err)
}
