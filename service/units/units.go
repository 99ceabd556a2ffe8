// Package units has the unit files by which systemd runs unitd: the agent for this host, one
// for each user, and the page with the socket that starts it. Debian packages install them as
// they are; others are told other places.
package units

import (
	"embed"
	"strings"
)

//go:embed *.service *.socket
var files embed.FS

// The places that the files name.
const (
	Program = "/usr/bin/unitd"
	Data    = "/var/lib/unitd"
)

// Names are the names of all unit files.
func Names() []string {
	return []string{"unitd-ui.service", "unitd-ui.socket", "unitd.service", "unitd@.service"}
}

// File is a unit file, as packages install it; false: there is none of that name.
func File(name string) (string, bool) {
	b, err := files.ReadFile(name)
	return string(b), err == nil
}

// At is a unit file for a program and a data directory at other places. systemd makes the data
// directory only where the files have it, so At leaves that out elsewhere. For the manager of a
// user, of whom the program and the directory are, it leaves out what only root's has.
func At(file, program, data string, user bool) string {
	var out []string
	for _, line := range strings.Split(file, "\n") {
		key, _, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(key, "StateDirectory") && (data != Data || user):
			continue
		case user && (key == "LoadCredential" || key == "After" && !strings.Contains(line, "unitd") || strings.Contains(line, "/etc/credstore")):
			continue
		case user && line == "WantedBy=multi-user.target":
			line = "WantedBy=default.target"
		case key == "ExecStart", key == "ExecReload":
			line = strings.Replace(line, Program, quote(program), 1)
		case key == "Environment" && data != Data:
			line = `Environment="UNITD_DATA=` + escape(data) + `"`
		}
		out = append(out, strings.ReplaceAll(line, Data+"/", escape(data)+"/"))
	}
	return strings.Join(out, "\n")
}

// escape has systemd take a text between quotes as it is. Source: docs/spec/service-manager.md §7.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(s)
}

// quote is escape for the program of a command line, in which no variables are filled in.
func quote(s string) string {
	if strings.ContainsAny(s, " \t\"'\\%;") {
		return `"` + escape(s) + `"`
	}
	return s
}
