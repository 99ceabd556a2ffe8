package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd"
)

// tokenTime is how long a token is valid if nothing else is said.
const tokenTime = time.Hour

// addMachineFlags are the flags of add-machine.
type addMachineFlags struct {
	n            int
	valid        time.Duration
	base, series string
	constraints  []string
	disks        []string
	noted        [2]string
}

func (a machineVerbs) addMachineCmd() *cobra.Command {
	var f addMachineFlags
	cmd := &cobra.Command{
		Use:   "add-machine [local]",
		Short: "Add a machine: a host that joins by a token, or this one",
		Long: `Add a machine to the model. It is there for a host that joins the model: print a
token, with which "unitd agent --store STORE --join TOKEN" makes an agent on that
host the machine's. The token is valid once. With "local" the machine is this host,
as those are that units get by themselves; several units can be put on it.

A new unit goes on a machine that has no units, if there is one, unless --to says
otherwise. Where the models are on one host, in SQLite, that is a machine which has
a host; with etcd it may be one that nobody has joined yet.

Called as juju it makes machines on this host.`,
		Example: `  unitd add-machine
  unitd add-machine -n 3 --valid 24h
  unitd add-machine local --base ubuntu@24.04`,
		Args: Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			todo, err := f.args(args, a.Command() == jujuName)
			if err != nil {
				return err
			}
			return a.addMachines(todo, f.n)
		},
	}
	fs := cmd.Flags()
	fs.IntVarP(&f.n, "n", "n", 1, "number of machines to add")
	fs.DurationVar(&f.valid, "valid", tokenTime, "how long the token is valid")
	fs.StringVar(&f.base, "base", "", "the base that the machine is shown with, as ubuntu@24.04")
	fs.StringVar(&f.series, "series", "", "an older way to name the base")
	fs.StringArrayVar(&f.constraints, "constraints", nil, "key=value …: recorded; may be repeated")
	fs.StringArrayVar(&f.disks, "disks", nil, "recorded: a pool, a count and a size, with commas between")
	for i, name := range []string{"private-key", "public-key"} {
		fs.StringVar(&f.noted[i], name, "", "noted: nothing is reached by ssh for this")
	}
	return cmd
}

// args are what the flags, and the arguments, ask for.
func (f addMachineFlags) args(args []string, dropIn bool) (todo state.MachineArgs, err error) {
	todo.Provider, todo.Valid, todo.Disks = state.ManualProvider, f.valid, f.disks
	if len(args) == 1 || dropIn {
		todo.Provider = state.LocalProvider
	}
	switch {
	case len(args) == 1 && args[0] != "local":
		err = wrongTarget(args[0])
	case len(args) == 1 && f.n != 1 && dropIn:
		err = Usagef("cannot use -n when specifying a placement directive")
	case f.n < 1 || f.n > maxMachines:
		err = Usagef("-n must be from 1 to %d", maxMachines)
	case f.valid <= 0:
		err = Usagef("--valid must be a time, as 90m or 24h")
	case f.base != "" && f.series != "":
		err = Usagef("--series and --base cannot be specified together")
	}
	if err != nil {
		return todo, err
	}
	switch {
	case f.base != "":
		todo.Base, err = model.ParseBase(f.base)
	case f.series != "":
		todo.Base, err = model.ParseSeries(f.series)
	}
	if err != nil {
		return todo, Usagef("%v", err)
	}
	todo.Constraints, err = readConstraints(f.constraints)
	return todo, err
}

// wrongTarget is the error of a machine that can't be had. Source:
// docs/spec/juju-clients.md §10.1.
func wrongTarget(target string) error {
	kind, _, _ := strings.Cut(target, ":")
	switch {
	case machineID.MatchString(target):
		return Usagef("machine-id cannot be specified when adding machines")
	case kind == "lxd" || kind == "kvm":
		return Usagef("cannot make a machine of %q: cannot create containers; units with machines of their own have them by --isolate", target)
	}
	return Usagef("cannot make a machine of %q: only \"local\" is known, and without it a host that joins by itself", target)
}

// maxMachines is how many machines one command adds at most.
const maxMachines = 1000

func (a machineVerbs) addMachines(todo state.MachineArgs, n int) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	added := map[string]bool{}
	for range n {
		doc, token, err := m.AddMachineOf(a.Context(), todo)
		if err != nil {
			a.Note("failed to create 1 machine")
			return err
		}
		added[doc.ID] = true
		a.Note("created machine %s", doc.ID)
		if token != "" {
			a.printf("%s\n", token)
		}
	}
	if len(todo.Disks) > 0 {
		a.records("--disks")
	}
	a.recordsConstraints(todo.Constraints)
	if todo.Provider == state.ManualProvider {
		dir, err := agent.DataDir()
		if err != nil {
			return err
		}
		place, err := a.StoreName()
		if err != nil {
			return err
		}
		if place == agent.LocalStore {
			place = filepath.Join(dir, agent.StoreFile)
		}
		a.Note("On its host, with a data directory of its own (UNITD_DATA), within %s:\n  unitd agent --store %s --join TOKEN", shortly(todo.Valid), agent.StorePlace(place))
		if strings.HasPrefix(place, etcd.Scheme) {
			a.Note("It needs credentials of its own where etcd wants any")
		}
	}
	if err := a.Ensure(); err != nil || todo.Provider != state.LocalProvider {
		return err
	}
	return a.awaitStarted(m, added)
}

// startTime is how long add-machine waits for the agent to say that it is there
// on a machine of its own host.
const startTime = 10 * time.Second

// awaitStarted waits until those machines of this host are started, as whoever
// has made one expects it to be: it would be a moment later anyway.
func (a machineVerbs) awaitStarted(m *state.Model, ids map[string]bool) error {
	if _, inLab, err := agent.LabTime(); err != nil || inLab {
		return errors.Trace(err) // the script's agent goes on when the script says so
	}
	ctx, cancel := context.WithTimeout(a.Context(), startTime)
	defer cancel()
	changes, err := m.Watch(ctx, 0)
	if err != nil {
		return err
	}
	for {
		s, err := m.Status(ctx)
		if err == nil && !slices.ContainsFunc(s.Machines, func(v state.MachineView) bool {
			return ids[v.ID] && (v.Started.IsZero() || !v.Present)
		}) {
			return nil
		}
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			if _, more := <-changes; more {
				continue
			}
			err = a.Context().Err()
		}
		return errors.Trace(err) // without it where the agent takes its time
	}
}

// shortly is a duration without the zeros at its end.
func shortly(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
