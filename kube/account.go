package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"strconv"
	"time"

	"github.com/juju/errors"
)

const (
	// AccountDir is where clients look for the files of the service account.
	AccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

	// validFor is how long certificates hold: longer than any model.
	validFor = 20 * 365 * 24 * time.Hour
)

// AccountFiles are the files of the service account by name, for AccountDir:
// token, ca.crt and namespace.
//
// Source: docs/spec/containers.md §5.5.
func AccountFiles(token string, ca []byte, namespace string) map[string][]byte {
	return map[string][]byte{"token": []byte(token), "ca.crt": ca, "namespace": []byte(namespace)}
}

// Environ has the variables by which clients find the server at that address,
// as KEY=value, in order. Those that have 443 in their names have it whatever
// the port is: hooks see no others.
//
// Source: docs/spec/containers.md §2.2.
func Environ(host string, port int) []string {
	p := strconv.Itoa(port)
	url := "tcp://" + net.JoinHostPort(host, p)
	return []string{
		"KUBERNETES_PORT=" + url,
		"KUBERNETES_PORT_443_TCP=" + url,
		"KUBERNETES_PORT_443_TCP_ADDR=" + host,
		"KUBERNETES_PORT_443_TCP_PORT=" + p,
		"KUBERNETES_PORT_443_TCP_PROTO=tcp",
		"KUBERNETES_SERVICE_HOST=" + host,
		"KUBERNETES_SERVICE_PORT=" + p,
		"KUBERNETES_SERVICE_PORT_HTTPS=" + p,
	}
}

// NewToken is a token of 256 bits from the source of chance.
func NewToken(chance io.Reader) (string, error) {
	var b [32]byte
	if _, err := io.ReadFull(chance, b[:]); err != nil {
		return "", errors.Annotate(err, "cannot make a token")
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// Authority signs the certificates of servers. Its parts are PEM, to be kept:
// the certificate for AccountFiles, the key for whoever starts servers alone.
type Authority struct {
	Cert []byte
	Key  []byte
}

// NewAuthority makes one that holds from shortly before now for many years.
func NewAuthority(now time.Time) (Authority, error) {
	cert := x509.Certificate{
		Subject:  pkix.Name{CommonName: "kubernetes"},
		IsCA:     true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
		// Without these, strict clients such as Python's take it for none.
		BasicConstraintsValid: true,
	}
	c, k, err := sign(cert, now, nil, nil)
	return Authority{c, k}, errors.Annotate(err, "cannot make a certificate authority")
}

// Serve makes the certificate of a server at those addresses, each a host name
// or an IP address, signed by the authority. NotValid for an authority that
// can't be read.
func (a Authority) Serve(now time.Time, hosts ...string) (tls.Certificate, error) {
	pair, err := tls.X509KeyPair(a.Cert, a.Key)
	if err != nil {
		return tls.Certificate{}, errors.NewNotValid(err, "certificate authority")
	}
	ca, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return tls.Certificate{}, errors.NewNotValid(err, "certificate authority")
	}
	cert := x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, h)
		}
	}
	c, k, err := sign(cert, now, ca, pair.PrivateKey)
	if err != nil {
		return tls.Certificate{}, errors.Annotate(err, "cannot make a certificate")
	}
	served, err := tls.X509KeyPair(c, k)
	return served, errors.Trace(err)
}

// sign gives the certificate a key of its own, and signs it by the parent's;
// without a parent by itself. The keys' chance is the system's: no other one is
// taken for them.
func sign(cert x509.Certificate, now time.Time, parent *x509.Certificate, by any) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	cert.SerialNumber = serial.Add(serial, big.NewInt(1))
	cert.NotBefore, cert.NotAfter = now.Add(-24*time.Hour), now.Add(validFor)
	if parent == nil {
		parent, by = &cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &cert, parent, &key.PublicKey, by)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), nil
}
