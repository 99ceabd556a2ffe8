package sessions

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"math/big"
	"time"

	"github.com/juju/errors"
)

// Protocol is the application protocol by which a listener knows a session.
const Protocol = "unitd-session/1"

// Print is the SHA-256 of a certificate, in hexadecimal digits.
type Print string

// Identity is one end of sessions: a key, and a certificate that says nothing but that.
type Identity struct {
	cert tls.Certificate
	// Print is by what the other end knows it.
	Print Print
}

// lasting is how long an identity can be used. An agent has the same one until it ends.
const lasting = 20 * 365 * 24 * time.Hour

// NewIdentity makes one, which is kept nowhere.
func NewIdentity() (*Identity, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, errors.Annotate(err, "cannot make a key")
	}
	// Clocks of hosts differ, and nobody looks at these times.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(lasting)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, errors.Annotate(err, "cannot make a certificate")
	}
	return &Identity{cert: tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private}, Print: printOf(raw)}, nil
}

func printOf(certificate []byte) Print {
	sum := sha256.Sum256(certificate)
	return Print(hex.EncodeToString(sum[:]))
}

// Valid says whether it can be a print.
func (p Print) Valid() bool {
	b, err := hex.DecodeString(string(p))
	return err == nil && len(b) == sha256.Size
}

// config is TLS in which the other end has to be whom accept takes, by its print.
func (id *Identity) config(accept func(Print) error) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{id.cert},
		NextProtos:   []string{Protocol},
		ClientAuth:   tls.RequireAnyClientCert,
		// No authority vouches for either end: VerifyConnection does, by the print.
		InsecureSkipVerify:     true,
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("the other end has no certificate")
			}
			return accept(printOf(s.PeerCertificates[0].Raw))
		},
	}
}
