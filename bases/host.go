package bases

import (
	"context"
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// Host is what of a host's own settings its bases get, where nothing else is said. The zero
// value is nothing.
type Host struct {
	// Mirror is the archive that it has its own packages from, Security that of their
	// security updates, if it runs the distribution of the base, and they aren't those that
	// the base names anyway.
	Mirror, Security string
	// HTTP and HTTPS are its proxies, Direct the hosts for which it has none.
	HTTP, HTTPS string
	Direct      []string
	// CAs are certificates that its administrator has added.
	CAs []CA
}

// ReadHost is what a host has for a base: root is its root, getenv its environment. What
// can't be read it hasn't.
func ReadHost(ctx context.Context, base model.Base, root fs.FS, getenv func(string) string) Host {
	var h Host
	h.Mirror, h.Security = archives(root, base.Name)
	config := ""
	if out, err := exec.CommandContext(ctx, "apt-config", "dump", "--format", "%f \"%v\"%n").Output(); err == nil {
		config = string(out)
	}
	h.HTTP, h.HTTPS, h.Direct = proxies(config, getenv)
	_ = fs.WalkDir(root, strings.TrimPrefix(caDir, "/"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".crt" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil
		}
		if ca, err := ParseCA(name, text); err == nil {
			h.CAs = append(h.CAs, ca)
		}
		return nil
	})
	return h
}

// proxies are those of apt's configuration, or of the environment.
func proxies(config string, getenv func(string) string) (forHTTP, forHTTPS string, direct []string) {
	of := func(scheme string) string {
		if p := aptValue(config, "Acquire::"+scheme+"::Proxy"); p != "" && p != "DIRECT" {
			return p
		}
		return firstOf(getenv(scheme+"_proxy"), getenv(strings.ToUpper(scheme)+"_PROXY"))
	}
	forHTTP, forHTTPS = of("http"), of("https")
	if forHTTP+forHTTPS == "" {
		return "", "", nil
	}
	direct = strings.FieldsFunc(firstOf(getenv("no_proxy"), getenv("NO_PROXY")), func(r rune) bool { return r == ',' || r == ' ' })
	return forHTTP, forHTTPS, direct
}

// aptValue is a value of what apt-config prints.
func aptValue(config, name string) string {
	for line := range strings.Lines(config) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.Trim(strings.TrimSuffix(strings.TrimSpace(rest), ";"), `"`)
		}
	}
	return ""
}

// archives are those that a host has its packages from, if it runs the distribution and has
// others than those that everybody has.
func archives(root fs.FS, distribution string) (mirror, security string) {
	release, err := fs.ReadFile(root, "etc/os-release")
	if err != nil {
		return "", ""
	}
	id, codename := variable(string(release), "ID"), variable(string(release), "VERSION_CODENAME")
	if id != distribution || codename == "" {
		return "", ""
	}
	names := []string{"etc/apt/sources.list"}
	more, _ := fs.Glob(root, "etc/apt/sources.list.d/*")
	for _, name := range append(names, more...) {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			continue
		}
		for _, e := range entries(path.Ext(name), string(text)) {
			switch {
			case !strings.HasPrefix(e.at, "http://") && !strings.HasPrefix(e.at, "https://") || !slices.Contains(e.components, "main"):
			case mirror == "" && slices.Contains(e.suites, codename):
				mirror = e.at
			case security == "" && (slices.Contains(e.suites, codename+"-security") || slices.Contains(e.suites, codename+"/updates")):
				security = e.at
			}
		}
	}
	return particular(mirror), particular(security)
}

// usual are the archives that bases name by themselves.
var usual = pattern.New(`^https?://(deb\.debian\.org/(debian|debian-security)|security\.debian\.org/debian-security|(archive|security)\.ubuntu\.com/ubuntu|ports\.ubuntu\.com/ubuntu-ports)/?$`)

// particular is an archive, if it is no usual one.
func particular(at string) string {
	if usual.MatchString(at) {
		return ""
	}
	return at
}

// variable is a variable of an os-release.
func variable(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}

// entry is an archive as a list of them has it.
type entry struct {
	at                 string
	suites, components []string
}

// entries are those of a file with archives of packages; ext is the end of its name.
// sources.list(5) says how.
func entries(ext, text string) []entry {
	switch ext {
	case ".list":
		return oneLine(text)
	case ".sources":
		return paragraphs(text)
	}
	return nil
}

// oneLine reads the format with a line for each.
func oneLine(text string) (all []entry) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		if _, after, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(strings.TrimSpace(rest), "[") {
			rest = after
		}
		if f := strings.Fields(rest); len(f) > 2 {
			all = append(all, entry{f[0], f[1:2], f[2:]})
		}
	}
	return all
}

// paragraphs reads the format with a paragraph for each.
func paragraphs(text string) (all []entry) {
	for _, paragraph := range strings.Split(text, "\n\n") {
		fields, last := map[string][]string{}, ""
		for line := range strings.Lines(paragraph) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
				last = strings.ToLower(name)
				fields[last] = strings.Fields(value)
				continue
			}
			fields[last] = append(fields[last], strings.Fields(line)...)
		}
		if !slices.Contains(fields["types"], "deb") || slices.Contains(fields["enabled"], "no") {
			continue
		}
		for _, at := range fields["uris"] {
			all = append(all, entry{at, fields["suites"], fields["components"]})
		}
	}
	return all
}
