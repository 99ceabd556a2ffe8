package cli

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble"
)

// journalIn is journalctl in the cell of a unit. The error is NotSupported where that has no
// systemd.
func journalIn(in func() (*isolate.Cell, error), unit model.UnitName, arguments []string) (*exec.Cmd, error) {
	cell, err := in()
	switch {
	case err != nil:
		return nil, errors.Trace(err)
	case cell == nil:
		return nil, errors.NewNotSupported(nil, fmt.Sprintf("%s shares this host: \"journalctl\" shows the host's journal", unit))
	case !cell.System():
		return nil, errors.NewNotSupported(nil, fmt.Sprintf("the machine of %s has no systemd, so it has no journal: deploy with --isolate=machine to get one", unit))
	}
	program, args := cell.Command("/", "/usr/bin/env", append([]string{"journalctl"}, arguments...)...)
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=" + isolate.Path, "LANG=C.UTF-8", "SYSTEMD_PAGER="}
	return cmd, nil
}

// systemLogs shows the journal of a unit's machine.
func (d Inside) systemLogs(ctx context.Context, u Unit, q pebble.LogsQuery, services []string, f logsFlags) error {
	if u.Journal == nil {
		return errors.NewNotSupported(nil, fmt.Sprintf("%s isn't a unit of this host: its journal isn't here", u.Name))
	}
	args := []string{"--quiet", "--no-pager"}
	if q.Last >= 0 {
		args = append(args, "--lines="+strconv.Itoa(q.Last))
	} else if f.follow {
		args = append(args, "--no-tail")
	}
	if f.follow {
		args = append(args, "--follow")
	}
	if f.format == "json" {
		args = append(args, "--output=json")
	}
	for _, service := range services {
		args = append(args, "--unit="+service)
	}
	cmd, err := u.Journal(args...)
	if err != nil {
		return errors.Trace(err)
	}
	cmd.Stdout, cmd.Stderr = d.Out, d.Err
	err = cmd.Run()
	if f.follow && ctx.Err() != nil {
		return nil // Ctrl-C is how it ends
	}
	return exited(err, fmt.Sprintf("cannot read the journal of %s", u.Name))
}
