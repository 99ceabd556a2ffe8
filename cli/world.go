package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
)

// worldCmd has another program play in a world of scripts, as the pytest plugin does.
// It is not for people, who have "unitd test".
func (a testVerbs) worldCmd() *cobra.Command {
	var real bool
	var isolate string
	cmd := &cobra.Command{
		Use:   "world",
		Short: "Have a program play in a world of scripts",
		Long: `Open a world as scripts have one, and carry out what comes on standard input: lines
of JSON with the commands of scripts, each of which is answered by one line. The
world is gone when there is no more to read.`,
		Example: `  echo '{"command":["status"]}' | unitd world`,
		Hidden:  true,
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			d := &script.Door{Real: real, In: a.In, Out: a.Out}
			if err := a.furnish(&d.Params, isolate); err != nil {
				return err
			}
			return d.Serve(a.Context())
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&real, "real-time", false, "have time go on as the host's does")
	fs.StringVar(&isolate, "isolate", model.IsolateOff, "isolate units, as deploy does: "+strings.Join(model.SharedRootModes(), ", "))
	fs.Lookup("isolate").NoOptDefVal = model.IsolateAuto
	return cmd
}

// furnish says which program a door's world has, and how its units are isolated.
func (a testVerbs) furnish(p *script.Params, isolate string) error {
	dir, err := agent.DataDirPath() // a world leaves nothing in it, so it isn't made
	if err != nil {
		return err
	}
	if p.Unitd, err = agent.StableSelf(dir); err != nil {
		return fmt.Errorf("cannot open a world: %w", err)
	}
	p.Bases = bases.Here(dir).Dir
	if p.Here, err = os.Getwd(); err != nil {
		return errors.Trace(err)
	}
	i, err := deploy.Isolate{Mode: isolate}.Isolation()
	if err != nil {
		return err
	}
	p.Isolate = cmp.Or(i.Mode, model.IsolateOff)
	if isolate == model.IsolateAuto {
		i, _ = a.WhereAllowed(dir, os.TempDir())
		p.Isolate = cmp.Or(i.Mode, model.IsolateOff)
		return errors.Trace(a.Context().Err())
	}
	return a.checkScripts(dir, i, deploy.Without(false))
}
