package machine

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/tools"
)

// outsideDir has the programs that people and scripts of the host call outside
// of hooks; see tools.Outside. dir is Config.Dir.
func outsideDir(dir string) string { return filepath.Join(dir, "tools") }

// linkOutside makes them.
func (c Config) linkOutside() error {
	dir := outsideDir(c.Dir)
	if err := c.Disk.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return errors.Annotate(err, "cannot make the tools directory")
	}
	_, err := tools.NewDir(dir, tools.Links{}.And(func(string) string { return c.Client })).Mend()
	return errors.Trace(err)
}

// ownTools are the hook tools of units that share the host, each unit's in its own
// directory: what its hooks do to them is no other unit's trouble.
func (c Config) ownTools() *tools.Own {
	return tools.NewOwn(cmp.Or(c.ToolClient, c.Client), outsideDir(c.Dir))
}

// ownToolsDir is where they are in a unit's directory.
func ownToolsDir(unit string) string { return filepath.Join(unit, "tools") }

// mendWarm has a Python that stands ready there for a run, or none.
func (u *unit) mendWarm() error {
	if !u.warmPython && u.endedWarm {
		return nil
	}
	if u.warm == nil {
		from := u.client
		if u.cell.Load() != nil {
			from = "../" + client
		}
		u.warm = tools.NewWarm(u.toolsDir, from)
	}
	if u.endedWarm = !u.warmPython; u.warmPython {
		return errors.Trace(u.warm.Mend())
	}
	err := u.warm.End()
	u.warm = nil
	return errors.Trace(err)
}

// mendTools has the unit's hook tools there before a run: an earlier one may have
// removed them.
func (u *unit) mendTools() error {
	mended, err := u.toolsDir.Mend()
	if err != nil || len(mended) == 0 {
		return errors.Trace(err)
	}
	if c := u.cell.Load(); c != nil { // what is beside them, too
		_, _, err := c.ToolsFor(u.name.Tag())
		if err == nil {
			err = c.Jujud(u.machine, hooks.Version)
		}
		if err != nil {
			return errors.Trace(err)
		}
	}
	u.logLine(debuglog.Entry{
		Level: "WARNING", Module: "unitd.tools",
		Message: "the unit's hook tools were missing or changed, and have been put back: " + some(mended),
	})
	return nil
}

// some names the first of many.
func some(names []string) string {
	const few = 3
	if len(names) <= few+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
