package script

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/script/lab"
)

// runHookAs has the next run of a hook execute another program than the charm's.
func (c *call) runHookAs() error {
	if len(c.args) != 3 {
		return c.usagef("expected a unit, a hook and a program")
	}
	if c.args[1] == string(hooks.Exec) {
		return c.usagef("exec runs commands, which the charm has no executable for")
	}
	program, err := c.program(c.args[2])
	if err != nil {
		return err
	}
	return c.arm(lab.Fault{Do: lab.RunAs, Program: program}, c.args[:2])
}

// program is the path of a program in the script's directory, which isolated units see
// as well.
func (c *call) program(name string) (string, error) {
	path := c.ts.MkAbs(name)
	rest, err := filepath.Rel(c.work, path)
	if err != nil || rest == ".." || strings.HasPrefix(rest, "../") {
		return "", c.usagef("%s is not in the script's directory, $WORK, which isolated units see as well: copy it there", name)
	}
	st, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return "", c.usagef("there is no file %s", name)
	case err != nil:
		return "", errors.Trace(err)
	case !st.Mode().IsRegular() || st.Mode()&0o111 == 0:
		return "", c.usagef("%s can't be executed: a script begins with #!", name)
	}
	return path, nil
}
