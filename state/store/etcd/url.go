package etcd

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// Scheme is what URLs of stores in etcd begin with.
const Scheme = "etcd://"

// The environment that completes a URL, with the parameter of the URL that goes
// first. Secrets have no parameter, as everybody on a host can read arguments.
const (
	EnvCA       = "UNITD_ETCD_CA"       // ?ca=FILE: who signed the servers' certificates; "system" for those of the host
	EnvCert     = "UNITD_ETCD_CERT"     // ?cert=FILE: the client's certificate
	EnvKey      = "UNITD_ETCD_KEY"      // ?key=FILE: its key
	EnvUser     = "UNITD_ETCD_USER"     // ?user=NAME
	EnvPassword = "UNITD_ETCD_PASSWORD" // the password itself, or ?password-file=FILE
)

// systemCA stands for who signs certificates according to the host.
const systemCA = "system"

var validPrefix = pattern.New(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)

// ParseURL reads "etcd://HOST:PORT[,HOST:PORT…]/PREFIX[?ca=FILE&cert=FILE&key=FILE&user=NAME&password-file=FILE]".
// With ca, or cert and key, connections are encrypted. A port may be left out
// for 2379. getenv has what the URL doesn't say; nil: nothing does. Errors:
// NotValid for a URL that isn't one, and those of reading the files.
func ParseURL(text string, getenv func(string) string) (Options, error) {
	var o Options
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok {
		return o, errors.NewNotValid(nil, "a store in etcd is named like etcd://host:2379,host2:2379/prefix")
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, prefix, _ := strings.Cut(rest, "/")
	for _, host := range strings.Split(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil && host != "" {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "2379")
		}
		o.Endpoints = append(o.Endpoints, host)
	}
	if strings.Contains(hosts, "@") { // the password isn't to be shown
		return o, errors.NewNotValid(nil, "the store's URL has a user before its hosts: name it as ?user=NAME, with password-file=FILE")
	}
	o.Prefix = strings.TrimSuffix(prefix, "/")
	values, err := url.ParseQuery(query)
	if err != nil {
		return o, errors.NewNotValid(nil, "the parameters of the store's URL can't be read: "+err.Error())
	}
	if err := o.validate(); err != nil {
		return o, errors.Trace(err)
	}
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	return o, errors.Trace(o.parameters(values, getenv))
}

// validate is NotValid for what can't be opened.
func (o Options) validate() error {
	if len(o.Endpoints) == 0 {
		return errors.NewNotValid(nil, "the store's URL names no host")
	}
	for _, e := range o.Endpoints {
		host, port, err := net.SplitHostPort(e)
		if err != nil || host == "" || port == "" || strings.ContainsAny(host, "/@ ") {
			return errors.NewNotValid(nil, "the store's URL has a host "+quote(e)+", which isn't one like host:2379")
		}
	}
	if !validPrefix.MatchString(o.Prefix) || len(o.Prefix) > 100 {
		return errors.NewNotValid(nil, "the store's URL needs a prefix of letters, digits and ._-/ after its hosts, like etcd://host:2379/unitd; "+quote(o.Prefix)+" is none")
	}
	return nil
}

func quote(s string) string { return `"` + s + `"` }

// URL names the store as ParseURL reads it, wherever a process runs that has the
// same password in its environment.
func (o Options) URL() string {
	text := Scheme + strings.Join(o.Endpoints, ",") + "/" + o.Prefix
	values := url.Values{}
	for name, value := range o.files {
		values.Set(name, value)
	}
	if o.Username != "" {
		values.Set("user", o.Username)
	}
	if len(values) > 0 {
		text += "?" + values.Encode()
	}
	return text
}

// SecretFiles are the files that nobody but their owner should read.
func (o Options) SecretFiles() []string {
	var paths []string
	for _, name := range []string{"key", "password-file"} {
		if path := o.files[name]; path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// parameters reads what isn't the place of the store.
func (o *Options) parameters(values url.Values, getenv func(string) string) error {
	o.files = map[string]string{}
	for name := range values {
		if !slices.Contains([]string{"ca", "cert", "key", "user", "password-file"}, name) {
			return errors.NewNotValid(nil, "the store's URL has a parameter "+quote(name)+"; there are ca, cert, key, user and password-file")
		}
	}
	for name, variable := range map[string]string{"ca": EnvCA, "cert": EnvCert, "key": EnvKey, "password-file": ""} {
		value := values.Get(name)
		if value == "" && variable != "" {
			value = getenv(variable)
		}
		if value == "" {
			continue
		}
		if value != systemCA {
			absolute, err := filepath.Abs(value)
			if err != nil {
				return errors.Trace(err)
			}
			value = absolute
		}
		o.files[name] = value
	}
	o.Username, o.Password = cmp.Or(values.Get("user"), getenv(EnvUser)), getenv(EnvPassword)
	if path := o.files["password-file"]; path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return errors.Annotate(err, "cannot read the password for etcd")
		}
		o.Password = strings.TrimRight(string(b), "\r\n")
	}
	if (o.Username == "") != (o.Password == "") {
		return errors.NewNotValid(nil, "a user of etcd is named with the password: "+EnvUser+" or ?user=, and "+EnvPassword+" or ?password-file=")
	}
	ca, cert, key := o.files["ca"], o.files["cert"], o.files["key"]
	if ca == "" && cert == "" && key == "" {
		return nil
	}
	return errors.Trace(o.encrypt(ca, cert, key))
}

// encrypt reads the certificates.
func (o *Options) encrypt(ca, cert, key string) error {
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" && ca != systemCA {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return errors.Annotate(err, "cannot read who signs the certificates of etcd")
		}
		o.TLS.RootCAs = x509.NewCertPool()
		if !o.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return errors.NewNotValid(nil, "there is no certificate in "+ca)
		}
	}
	if (cert == "") != (key == "") {
		return errors.NewNotValid(nil, "a certificate for etcd is named with its key: "+EnvCert+" or ?cert=, and "+EnvKey+" or ?key=")
	}
	if cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return errors.Annotatef(err, "cannot read the certificate %s and its key", cert)
	}
	o.TLS.Certificates = []tls.Certificate{pair}
	return nil
}
