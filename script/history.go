package script

import (
	"io/fs"
	"slices"
	"strconv"

	"github.com/juju/errors"

	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (c *call) history() error {
	flags := map[string]bool{}
	c.args = slices.DeleteFunc(slices.Clone(c.args), func(arg string) bool {
		flag := arg == "--files" || arg == "--diff"
		flags[arg] = flag
		return flag
	})
	files, diffs := flags["--files"], flags["--diff"]
	name, m, err := c.known()
	if err != nil {
		return err
	}
	runs, err := c.runs(m, name)
	if err != nil {
		return err
	}
	var refs []recording.Ref
	if files || diffs {
		if refs, err = recording.List(machine.RecordingsDir(c.dir, m.UUID()), name); err != nil {
			return err
		}
	}
	if len(c.args) == 1 {
		if diffs {
			return c.usagef("--diff needs the number of a run")
		}
		c.printf("") // no runs are none, not what the last command has
		for _, run := range runs {
			c.printf("%4d  %-32s exit %d  %d tool calls  %s\n", run.Run, word(run), run.Exit, run.Tools, run.Cause())
			if files && !run.Missing {
				if err := c.printFiles(refs, run, false, "      "); err != nil {
					return err
				}
			}
		}
		return nil
	}
	n, err := strconv.ParseInt(c.args[1], 10, 64)
	if err != nil || len(c.args) > 2 {
		return c.usagef("expected the number of a run")
	}
	found := false
	for _, run := range runs {
		if run.Run != n {
			continue
		}
		found = true
		c.printRun(m, name, run)
		if files || diffs {
			if err := c.printFiles(refs, run, diffs, ""); err != nil {
				return err
			}
		}
	}
	if !found {
		return errors.Errorf("%s has no run %d", name, n)
	}
	return nil
}

// printRun prints all that the history has of a run.
func (c *call) printRun(m *state.Model, name model.UnitName, run history.Entry) {
	c.printf("run: %d\nhook: %s\noutcome: %s\nexit: %d\ntools: %d\ncause: %s\n", run.Run, run.Name, run.Outcome, run.Exit, run.Tools, run.Cause())
	if run.Hook.RemoteUnit != "" {
		c.printf("remote-unit: %s\n", run.Hook.RemoteUnit)
	}
	if run.Message != "" {
		c.printf("message: %s\n", c.sources(m).Text(name.Tag(), run.Message))
	}
	for _, note := range run.Notes {
		c.printf("note: %s\n", note)
	}
}

// printFiles prints what a run did to files, by the recordings of its unit.
func (c *call) printFiles(refs []recording.Ref, run history.Entry, diffs bool, indent string) error {
	found, err := filesOf(refs, run)
	if err == nil {
		c.printf("%s", render.FilesText(found, diffs, indent))
	}
	return err
}

// filesOf is what a run did to files; nil: nothing was recorded of it, or that has gone, or an
// agent was killed while it wrote it.
func filesOf(refs []recording.Ref, run history.Entry) (*footprint.Found, error) {
	for _, ref := range refs {
		if ref.Run != run.Run {
			continue
		}
		r, err := ref.Read()
		switch {
		case errors.Is(err, errors.NotFound), errors.Is(err, errors.NotValid), errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil || r.ID != run.ID:
			return nil, err
		}
		return r.Files, nil
	}
	return nil, nil
}
