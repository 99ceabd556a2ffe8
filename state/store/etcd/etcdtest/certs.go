package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/juju/errors"
)

// Authority signs certificates for a test.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority with its certificate at CA, in a directory
// that is there.
func NewAuthority(t TB, dir string) *Authority {
	t.Helper()
	a := &Authority{dir: dir}
	if _, _, err := a.sign("ca"); err != nil {
		t.Fatal(err)
	}
	return a
}

// CA is the path of the authority's own certificate.
func (a *Authority) CA() string { return filepath.Join(a.dir, "ca.crt") }

// Sign makes a certificate for a server on the loopback, or for a client with
// that common name, and returns the paths of it and its key.
func (a *Authority) Sign(t TB, name string) (cert, key string) {
	t.Helper()
	cert, key, err := a.sign(name)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *Authority) sign(name string) (certPath, keyPath string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", errors.Trace(err)
	}
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return "", "", errors.Trace(err)
	}
	c := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
		parent, signer = c, key
		a.cert, a.key = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		return "", "", errors.Trace(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", "", errors.Trace(err)
	}
	certPath, keyPath = filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")
	for path, block := range map[string]*pem.Block{certPath: {Type: "CERTIFICATE", Bytes: der}, keyPath: {Type: "EC PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			return "", "", errors.Trace(err)
		}
	}
	return certPath, keyPath, nil
}
