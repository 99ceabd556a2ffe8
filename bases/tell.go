package bases

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// Where a base is told of its surroundings.
const (
	caDir     = "/usr/local/share/ca-certificates"
	proxyFile = "etc/apt/apt.conf.d/90unitd-proxy"
)

// tell writes into the root which archive, proxy and certificates it is to have. The
// certificates are known only once update-ca-certificates has run.
func (w *work) tell() error {
	root, err := os.OpenRoot(w.root()) // its links are its own
	if err != nil {
		return errors.Trace(err)
	}
	defer root.Close()
	if text := w.settings.aptProxy(); text != "" {
		if err := write(root, proxyFile, text); err != nil {
			return errors.Trace(err)
		}
	}
	if w.settings.mirror != "" || w.settings.security != "" {
		if err := w.settings.move(root); err != nil {
			return errors.Trace(err)
		}
	}
	for _, ca := range w.settings.cas {
		for i, text := range ca.PEM { // each file has one, or tools know the first alone
			name := fmt.Sprintf("%s/unitd-%s-%d.crt", strings.TrimPrefix(caDir, "/"), ca.Name, i+1)
			if err := write(root, name, text); err != nil {
				return errors.Trace(err)
			}
		}
	}
	return nil
}

func write(root *os.Root, name, text string) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(root.WriteFile(name, []byte(text), 0o644))
}

// aptProxy is the configuration of apt in a base with a proxy; empty: it has none.
func (s settings) aptProxy() string {
	if !s.kept {
		return ""
	}
	var b strings.Builder
	if s.http != "" {
		fmt.Fprintf(&b, "Acquire::http::Proxy %q;\n", s.http)
	}
	if s.https != "" && s.https != s.http { // which is for both else
		fmt.Fprintf(&b, "Acquire::https::Proxy %q;\n", s.https)
	}
	for _, host := range s.direct {
		if direct.MatchString(host) {
			fmt.Fprintf(&b, "Acquire::http::Proxy::%s \"DIRECT\";\nAcquire::https::Proxy::%s \"DIRECT\";\n", host, host)
		}
	}
	return b.String()
}

// direct is a host that apt can be told of by name; it knows no domains and no networks.
var direct = pattern.New(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// move has all lists of archives name the mirror.
func (s settings) move(root *os.Root) error {
	names := []string{"etc/apt/sources.list"}
	for _, ext := range []string{"list", "sources"} {
		more, err := fs.Glob(root.FS(), "etc/apt/sources.list.d/*."+ext)
		if err != nil {
			return errors.Trace(err)
		}
		names = append(names, more...)
	}
	for _, name := range names {
		text, err := root.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return errors.Trace(err)
		}
		moved := mirrored(string(text), s.mirror, s.security)
		if moved == string(text) {
			continue
		}
		if err := root.WriteFile(name, []byte(moved), 0o644); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// mirrored is a list of archives in which those that the distributions publish give way to
// a mirror, and those of their security updates to another one. Mirrors of Ubuntu have these
// updates too, and those of Debian don't: empty leaves what is there.
func mirrored(text, mirror, security string) string {
	var b strings.Builder
	for text != "" {
		word, rest := text, ""
		if i := strings.IndexAny(text, " \t\n"); i >= 0 {
			word, rest = text[:i], text[i+1:]
		}
		b.WriteString(instead(word, mirror, security))
		b.WriteString(text[len(word) : len(text)-len(rest)]) // what is between the two
		text = rest
	}
	return b.String()
}

// instead is a word of a list of archives as it is with a mirror.
func instead(word, mirror, security string) string {
	switch distribution, urgent := public(word); {
	case distribution == "":
	case urgent && security != "":
		return security
	case urgent && distribution == "debian":
	case mirror != "":
		return mirror
	}
	return word
}

// public is the distribution that publishes an archive; empty: none that is known. urgent:
// it is that of its security updates.
func public(at string) (distribution string, urgent bool) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	host, dir := u.Hostname(), strings.Trim(u.Path, "/")
	under := func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }
	switch {
	case under("debian.org") && dir == "debian":
		return "debian", false
	case under("debian.org") && dir == "debian-security":
		return "debian", true
	case under("archive.ubuntu.com") && dir == "ubuntu", under("ports.ubuntu.com") && dir == "ubuntu-ports":
		return "ubuntu", false
	case under("security.ubuntu.com") && dir == "ubuntu":
		return "ubuntu", true
	}
	return "", false
}
