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
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd"
)

// tokenTime is how long a token is valid if nothing else is said.
const tokenTime = time.Hour

func (a machineVerbs) addMachineCmd() *cobra.Command {
	var n int
	var valid time.Duration
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
  unitd add-machine local`,
		Args: Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			dropIn := a.Command() == jujuName
			switch {
			case len(args) == 1 && machineID.MatchString(args[0]):
				return Usagef("machine-id cannot be specified when adding machines")
			case len(args) == 1 && args[0] != "local":
				return Usagef("cannot make a machine of %q: only \"local\" is known, and without it a host that joins by itself", args[0])
			case len(args) == 1 && n != 1 && dropIn:
				return Usagef("cannot use -n when specifying a placement directive")
			case n < 1 || n > maxMachines:
				return Usagef("-n must be from 1 to %d", maxMachines)
			case valid <= 0:
				return Usagef("--valid must be a time, as 90m or 24h")
			}
			provider := state.ManualProvider
			if len(args) == 1 || dropIn {
				provider = state.LocalProvider
			}
			return a.addMachines(provider, n, valid)
		},
	}
	cmd.Flags().IntVarP(&n, "n", "n", 1, "number of machines to add")
	cmd.Flags().DurationVar(&valid, "valid", tokenTime, "how long the token is valid")
	var noted []string
	for _, name := range []string{"base", "series", "constraints", "disks", "private-key", "public-key"} {
		cmd.Flags().StringArrayVar(&noted, name, nil, "noted: a host is what it is")
	}
	return cmd
}

// jujuName is the name by which clients of Juju call this program.
const jujuName = "juju"

// maxMachines is how many machines one command adds at most.
const maxMachines = 1000

func (a machineVerbs) addMachines(provider string, n int, valid time.Duration) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	added := map[string]bool{}
	for range n {
		doc, token, err := m.AddMachine(a.Context(), provider, valid)
		if err != nil {
			return err
		}
		added[doc.ID] = true
		a.Note("created machine %s", doc.ID)
		if token != "" {
			a.printf("%s\n", token)
		}
	}
	if provider == state.ManualProvider {
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
		a.Note("On its host, with a data directory of its own (UNITD_DATA), within %s:\n  unitd agent --store %s --join TOKEN", shortly(valid), agent.StorePlace(place))
		if strings.HasPrefix(place, etcd.Scheme) {
			a.Note("It needs credentials of its own where etcd wants any, and the same keys for secrets as this host (secret.key, or %s)", agent.SecretKeyVariable)
		}
	}
	if err := a.Ensure(); err != nil || provider != state.LocalProvider {
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
