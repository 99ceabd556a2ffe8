package isolate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// HostOS leaves what the root says of its system.
const HostOS = "host"

// DefaultOS is that of a unit for which nothing was said, also not by its charm:
// charms ask whether they are on Ubuntu, and some know no other answer.
const DefaultOS = "ubuntu@22.04"

// ubuntus are the releases that can be told, with their code names.
var ubuntus = map[string]string{"20.04": "focal", "22.04": "jammy", "24.04": "noble"}

// Systems are the names of systems that a cell can say it is.
func Systems() []string {
	names := []string{HostOS}
	for _, v := range slices.Sorted(maps.Keys(ubuntus)) {
		names = append(names, "ubuntu@"+v)
	}
	return names
}

// ParseOS is the whole name of a system: "ubuntu" is DefaultOS, as is the empty one.
func ParseOS(name string) (string, error) {
	switch {
	case name == "" || name == "ubuntu":
		return DefaultOS, nil
	case slices.Contains(Systems(), name):
		return name, nil
	}
	return "", errors.NewNotValid(nil, fmt.Sprintf("system %q is not known: it can be %s", name, strings.Join(Systems(), ", ")))
}

// SystemFor is the first of those bases, "ubuntu@24.04" or "ubuntu@24.04/stable",
// that a cell can say it is; DefaultOS if it can't say any.
func SystemFor(bases ...string) string {
	for _, base := range bases {
		base, _, _ = strings.Cut(base, "/")
		if base != HostOS && slices.Contains(Systems(), base) {
			return base
		}
	}
	return DefaultOS
}

// osFiles are the files, by their paths, by which programs tell the system; none
// for HostOS.
func osFiles(system string) map[string]string {
	version, ok := strings.CutPrefix(system, "ubuntu@")
	if !ok {
		return nil
	}
	code := ubuntus[version]
	lts := version + " LTS"
	return map[string]string{
		"/etc/os-release": fmt.Sprintf(`PRETTY_NAME="Ubuntu %s"
NAME="Ubuntu"
VERSION_ID="%s"
VERSION="%s (%s)"
VERSION_CODENAME=%[4]s
UBUNTU_CODENAME=%[4]s
ID=ubuntu
ID_LIKE=debian
`, lts, version, lts, code),
		"/etc/lsb-release": fmt.Sprintf(`DISTRIB_ID=Ubuntu
DISTRIB_RELEASE=%s
DISTRIB_CODENAME=%s
DISTRIB_DESCRIPTION="Ubuntu %s"
`, version, code, lts),
	}
}
