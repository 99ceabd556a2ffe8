package isolate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
)

// makeAccounts has the accounts in a cell that is new.
func makeAccounts(all []Account) error {
	for _, a := range all {
		// Nobody comes in by a password, and without a shadow of one nobody is kept out
		// for having none, as sudo would.
		user := fmt.Sprintf("%s:*:%d:%d::%s:/bin/bash", a.Name, a.UID, a.GID, a.Home)
		group := fmt.Sprintf("%s:*:%d:", a.Name, a.GID)
		for path, line := range map[string]string{"/etc/passwd": user, "/etc/group": group} {
			if err := addLine(path, line); err != nil {
				return errors.Annotatef(err, "cannot add the user %s", a.Name)
			}
		}
		if err := os.MkdirAll(a.Home, 0o755); err != nil {
			return errors.Annotatef(err, "cannot make the home of %s", a.Name)
		}
		if err := os.Chown(a.Home, a.UID, a.GID); err != nil {
			return errors.Annotatef(err, "cannot make the home of %s", a.Name)
		}
		if err := a.maySudo(); err != nil {
			return errors.Annotatef(err, "cannot let %s become root", a.Name)
		}
	}
	return nil
}

// addLine has a line of an account in a file, after root's, which others expect to be
// the first, and before those of whom else may have the number. One of the same name
// goes.
func addLine(path, line string) error {
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	name, _, _ := strings.Cut(line, ":")
	var before, after []string
	for l := range strings.Lines(string(b)) {
		l = strings.TrimSuffix(l, "\n")
		switch {
		case strings.HasPrefix(l, name+":"):
		case strings.HasPrefix(l, "root:"):
			before = append(before, l)
		default:
			after = append(after, l)
		}
	}
	lines := append(append(before, line), after...)
	return replace(path, strings.Join(lines, "\n")+"\n")
}

// maySudo has sudo ask for no password, where the root has it.
func (a Account) maySudo() error {
	const dir = "/etc/sudoers.d"
	if _, err := os.Stat(dir); !a.Sudo || os.IsNotExist(err) {
		return nil
	}
	path := filepath.Join(dir, a.Name)
	if err := replace(path, a.Name+" ALL=(ALL:ALL) NOPASSWD:ALL\n"); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Chmod(path, 0o440))
}
