package bases

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/juju/errors"
)

// What may be said in place of an archive, and of a proxy, so that the host's isn't taken:
// the distribution's own archive, and none.
const (
	DefaultMirror = "default"
	NoProxy       = "none"
)

// Asked is what whoever makes a base wants. It is kept with the base, for when it is made
// again.
type Asked struct {
	// Mirror is the archive of packages; Proxy that for HTTP. Empty: nothing was said.
	Mirror string `json:"mirror,omitempty"`
	Proxy  string `json:"proxy,omitempty"`
	// CAs are certificates that programs in the base trust. NoCAs: none, also not the
	// host's. Neither: nothing was said.
	CAs   []CA `json:"cas,omitempty"`
	NoCAs bool `json:"no-cas,omitempty"`
}

// with is what is asked for where something else is now: that wins.
func (a Asked) with(now Asked) Asked {
	if now.Mirror != "" {
		a.Mirror = now.Mirror
	}
	if now.Proxy != "" {
		a.Proxy = now.Proxy
	}
	if now.NoCAs || len(now.CAs) > 0 {
		a.CAs, a.NoCAs = now.CAs, now.NoCAs
	}
	return a
}

// CA is a certificate, or several, of those who vouch for others.
type CA struct {
	// Name tells it from others, for people and as the name of a file.
	Name string `json:"name"`
	// PEM are the certificates, and nothing else.
	PEM []string `json:"pem"`
}

// plain is a text as the name of a file can have it.
func plain(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r)) {
			return r
		}
		return '-'
	}, text), ".-")
}

// ParseCA reads the certificates of a file. The error is NotValid, and says what the file
// lacks.
func ParseCA(file string, text []byte) (CA, error) {
	base := path.Base(file)
	ca := CA{Name: plain(strings.TrimSuffix(base, path.Ext(base)))}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return CA{}, errors.NewNotValid(nil, fmt.Sprintf("%s has a %s: a file of CA certificates has nothing else", file, strings.ToLower(block.Type)))
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return CA{}, errors.NewNotValid(nil, fmt.Sprintf("%s has a certificate that can't be read: %v", file, err))
		}
		ca.PEM = append(ca.PEM, string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})))
	}
	if len(ca.PEM) == 0 {
		return CA{}, errors.NewNotValid(nil, fmt.Sprintf("%s has no certificate in the PEM format", file))
	}
	return ca, nil
}

// settings are those of a base that is made: what was asked for, else what the host has.
type settings struct {
	// mirror is the archive, security that of the updates that can't wait; empty: the
	// distribution's.
	mirror, security string
	// http and https are proxies, direct the hosts for which there is none. direct alone,
	// with noProxy, is for all. kept: they are the base's, too.
	http, https string
	direct      []string
	noProxy     bool
	kept        bool
	// cas are known in the base. caAsked: somebody has asked for them.
	cas     []CA
	caAsked bool
}

// settle is what a base gets, and in a few words what of that was the host's.
func settle(a Asked, h Host) (s settings, taken string) {
	var words []string
	switch a.Mirror {
	case "":
		s.mirror, s.security = h.Mirror, h.Security
		if h.Mirror != "" {
			words = append(words, "the archive "+h.Mirror)
		}
	case DefaultMirror:
	default:
		s.mirror = a.Mirror
	}
	switch a.Proxy {
	case "":
		if s.http, s.https, s.direct = h.HTTP, h.HTTPS, h.Direct; s.http+s.https == "" {
			break
		}
		s.kept = !local(s.http) && !local(s.https)
		word := "the proxy " + redacted(firstOf(s.http, s.https))
		if !s.kept {
			word += " (only while the base is made: units' machines can't reach it)"
		}
		words = append(words, word)
	case NoProxy:
		s.noProxy = true
	default:
		s.http, s.https, s.kept = a.Proxy, a.Proxy, true
	}
	switch {
	case len(a.CAs) > 0:
		s.cas, s.caAsked = a.CAs, true
	case !a.NoCAs && len(h.CAs) > 0:
		s.cas = h.CAs
		var names []string
		for _, ca := range h.CAs {
			names = append(names, ca.Name)
		}
		words = append(words, "the CA certificates "+strings.Join(names, ", "))
	}
	return s, strings.Join(words, "; ")
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// local says whether a proxy is on the host's loopback device.
func local(proxy string) bool {
	u, err := url.Parse(proxy)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// redacted is an address without its password.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "of the environment"
	}
	return u.Redacted()
}

// environment are the variables that programs go by who fetch something.
func (s settings) environment() []string {
	if s.noProxy {
		return []string{"http_proxy=", "https_proxy=", "HTTP_PROXY=", "HTTPS_PROXY="}
	}
	var all []string
	for name, value := range map[string]string{"http_proxy": s.http, "https_proxy": s.https, "no_proxy": strings.Join(s.direct, ",")} {
		if value != "" && s.http+s.https != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// transport asks a registry.
func (s settings) transport() (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if s.noProxy || s.http+s.https != "" {
		proxy, err := url.Parse(firstOf(s.https, s.http))
		if err != nil {
			return nil, errors.Annotate(err, "the proxy")
		}
		t.Proxy = func(q *http.Request) (*url.URL, error) {
			if s.noProxy || s.goesDirect(q.URL.Hostname()) {
				return nil, nil
			}
			return proxy, nil
		}
	}
	if len(s.cas) == 0 {
		return t, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, ca := range s.cas {
		for _, text := range ca.PEM {
			pool.AppendCertsFromPEM([]byte(text))
		}
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// goesDirect says whether no proxy is asked for a host.
func (s settings) goesDirect(host string) bool {
	if local("http://" + host) {
		return true
	}
	for _, d := range s.direct {
		d = strings.TrimPrefix(d, ".")
		if d == "*" || host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}

// Address says whether a text is the address of an archive or a proxy.
func Address(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.ContainsAny(text, " \"\n")
}
