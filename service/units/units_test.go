package units

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// written has unit files in a directory, at their places or others, with a program that is there.
func written(t *testing.T, data string, user bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	program := filepath.Join(dir, "a place with $ and %", "unitd")
	if err := os.Mkdir(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		file, ok := File(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(At(file, program, data, user)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func needsAnalyze(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skipf("skipped: %v", err)
	}
}

func TestSystemdTakesTheUnitFiles(t *testing.T) {
	t.Parallel()
	needsAnalyze(t)
	for _, c := range []struct {
		name, data string
		user       bool
	}{
		{"as they are installed", Data, false},
		{"with a data directory elsewhere", "/srv/a place with $ and %", false},
		{"for the manager of a user", "/home/me/.local/share/unitd", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := written(t, c.data, c.user)
			args := []string{"verify", "--man=no", "--recursive-errors=no"}
			for _, name := range Names() {
				if c.user && name == "unitd@.service" {
					continue
				}
				args = append(args, filepath.Join(dir, name))
			}
			out, err := exec.Command("systemd-analyze", args...).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("systemd-analyze says %v: %s", err, out)
			}
		})
	}
}

// TestTheServicesAreAsOpenAsTheyHaveToBe bounds what systemd-analyze makes of them, in tenths:
// the agent's hooks may do what root may, and the page may do little.
func TestTheServicesAreAsOpenAsTheyHaveToBe(t *testing.T) {
	t.Parallel()
	needsAnalyze(t)
	dir := written(t, Data, false)
	for name, most := range map[string]int{"unitd.service": 97, "unitd@.service": 96, "unitd-ui.service": 15} {
		path := filepath.Join(dir, name)
		if name == "unitd@.service" { // a template is looked at by an instance
			if err := os.Rename(path, filepath.Join(dir, "unitd@nobody.service")); err != nil {
				t.Fatal(err)
			}
			path = filepath.Join(dir, "unitd@nobody.service")
		}
		out, err := exec.Command("systemd-analyze", "security", "--no-pager", "--offline=true", fmt.Sprintf("--threshold=%d", most), path).CombinedOutput()
		if err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			t.Errorf("%s is more open than %d: %v: %s", name, most, err, lines[len(lines)-1])
		}
	}
}

func TestUnitFilesNameTheirPlaces(t *testing.T) {
	t.Parallel()
	file, _ := File("unitd.service")
	if got := At(file, Program, Data, false); got != file {
		t.Errorf("at the places of packages it is\n%s", got)
	}
	elsewhere := strings.Split(At(file, "/opt/my unitd", "/srv/u", true), "\n")
	for _, want := range []string{`ExecStart="/opt/my unitd" agent`, `ExecReload="/opt/my unitd" agent --upgrade --timeout 7m`, `Environment="UNITD_DATA=/srv/u"`, "WantedBy=default.target", "KillMode=process", "Delegate=yes", "Type=notify"} {
		if !slices.Contains(elsewhere, want) {
			t.Errorf("there is no %s in %q", want, elsewhere)
		}
	}
	for _, line := range elsewhere {
		if strings.HasPrefix(line, "LoadCredential=") || strings.HasPrefix(line, "StateDirectory=") || strings.Contains(line, Data) {
			t.Errorf("there is %s", line)
		}
	}
	socket, _ := File("unitd-ui.socket")
	if got := At(socket, Program, "/srv/u", false); !strings.Contains(got, "/srv/u/ui.token") {
		t.Errorf("the page's token is elsewhere: %s", got)
	}
}
