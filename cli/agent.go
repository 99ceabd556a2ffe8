package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/agentlog"
)

// agentVerbs are about the agent, and about the program itself.
type agentVerbs struct{ base }

func (a agentVerbs) agentCmd() *cobra.Command {
	var o agent.Options
	var upgrade, takesOver bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent in the foreground, for a service manager",
		Long: `Run the hooks of all units of all models, until told to stop by SIGTERM or
Ctrl-C: then hooks that run are ended, to be run again by the next agent. There is
one agent for a data directory; other commands start one in the background if
there is none. SIGHUP has it begin logs anew that were renamed or removed.

With --join the agent becomes that of a machine that "unitd add-machine" has made,
and runs the units on that machine alone. It remembers that, so that from then on it
is started without. Once the machine is removed it ends, and refuses to run again.

An agent that hasn't joined manages the models of its store, and there is one: the
first. Another one is refused for as long as that lives, and when it is gone until
--takeover says that it won't come back. Its units begin anew on this host's disk.

--upgrade turns the running agent into this program, without interruption. Its
process stays, running hooks go on and commit, and units' machines, containers and
services notice nothing. Running actions and commands can't go on in another program,
so the agent first waits until they end, and begins no other hooks meanwhile.`,
		Example: `  unitd agent
  UNITD_DATA=/var/lib/unitd unitd agent
  unitd agent --store /srv/model/store.db --join TOKEN
  unitd agent --store etcd://10.0.0.1:2379/unitd --takeover
  unitd agent --listen 127.0.0.1:9464
  unitd agent --otlp http://127.0.0.1:4318
  unitd agent --log-format json
  unitd agent --upgrade`,
		Args: Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case takesOver:
				fmt.Fprintln(cmd.OutOrStdout(), agent.TakesOver(cmd.Context()))
				return nil
			case upgrade:
				return a.Upgrade(timeout)
			}
			return a.Serve(o)
		},
	}
	cmd.Flags().BoolVar(&upgrade, "upgrade", false, "turn the running agent into this program, and wait until it is ready")
	cmd.Flags().DurationVar(&timeout, "timeout", agent.UpgradeTime, "with --upgrade: how long to wait before the agent goes on as it was")
	cmd.Flags().BoolVar(&takesOver, "takes-over", false, "say what this program can take over from another one")
	_ = cmd.Flags().MarkHidden("takes-over")
	cmd.Flags().StringVar(&o.Join.Token, "join", "", "the token of \"unitd add-machine\", or @ and the name of a file that has it")
	cmd.Flags().StringVar(&o.Join.Address, "address", "", "the address by which other machines reach this host")
	cmd.Flags().BoolVar(&o.TakeOver, "takeover", false, "manage the models in place of an agent that is gone for good")
	cmd.Flags().BoolVar(&o.AllowReboot, "allow-reboot", false, "carry out what charms ask of juju-reboot; it is only logged otherwise")
	cmd.Flags().IntVar(&o.HooksAtOnce, "hooks-at-once", 0, "how many hooks may begin at the same time; 0: $UNITD_HOOKS_AT_ONCE, or as many as this host's processors and memory allow")
	cmd.Flags().StringVar(&o.Listen.Address, "listen", "", "serve metrics and health on HOST:PORT, for example 127.0.0.1:9464")
	cmd.Flags().StringVar(&o.Listen.Cert, "listen-cert", "", "serve them with this TLS certificate, a file in PEM")
	cmd.Flags().StringVar(&o.Listen.Key, "listen-key", "", "the certificate's key, a file in PEM")
	cmd.Flags().StringVar(&o.Listen.Token, "listen-token", "", "serve them to whoever has the token in this file")
	cmd.Flags().StringVar(&o.Tunnel, "tunnel", "auto", "the UDP port at which isolated units of other hosts reach those of this host; auto: any free port; off: they can't reach them")
	cmd.Flags().BoolVar(&o.Sessions, "allow-sessions", false, "let ssh, debug-hooks and debug-code on other hosts reach the units of this host, at the address of --listen; needs --listen-cert")
	cmd.Flags().StringVar(&o.StoreSocket, "store-socket", "", "serve the store at this socket to the users that \"unitd store-user\" has let in, for example /run/unitd-agent/store.socket")
	cmd.Flags().StringVar(&o.OTLP.Endpoint, "otlp", "", "send traces, metrics and logs to the OpenTelemetry collector at this URL, for example http://127.0.0.1:4318; $UNITD_OTLP has the same effect")
	cmd.Flags().StringVar(&o.Log.Format, "log-format", "", "the form of the lines in the agent's own log: text, for people (the default); logfmt, the same with the time in UTC and levels in lower case; json, one object on each line; empty: $"+agentlog.FormatVariable)
	cmd.Flags().StringVar(&o.Log.To, "log-to", "", "where that log goes: stderr (the default), or journald, with its fields (the default if systemd has connected stderr with the journal); empty: $"+agentlog.ToVariable)
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(agentlog.Formats(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("log-to", cobra.FixedCompletions([]string{agentlog.Stderr, agentlog.Journal}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&o.Debug, "debug", false, "let \"unitd debug-agent\" look into this process")
	return cmd
}

func (a agentVerbs) shutdownCmd() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "shutdown",
		Short: "End the agent of this data directory",
		Long: `End the agent. Hooks that run are ended, with time to finish, and run again when
there is an agent again; units and their workloads stay as they are. The agents of
controllers that bootstrap has made end, too; with -c that of one controller alone.`,
		Example: "  unitd shutdown",
		Args:    Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Lookup(controllerOption).Changed {
				return a.Shutdown(timeout)
			}
			return a.shutdownAll(timeout)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", agent.ShutdownTime, "give up waiting after this long")
	return cmd
}

// shutdownAll ends the agent of the data directory, and those of the controllers below it.
func (a agentVerbs) shutdownAll(timeout time.Duration) error {
	here, err := agent.Controller()
	if err != nil {
		return err
	}
	if here.Name == agent.OwnController {
		all, err := agent.Controllers()
		if err != nil {
			return err
		}
		for _, r := range all[1:] {
			if err := a.shutdownOther(r, timeout); err != nil {
				return err
			}
		}
	}
	return a.Shutdown(timeout)
}

// shutdownOther ends the agent of another controller, if it has one.
func (a agentVerbs) shutdownOther(r agent.Registered, timeout time.Duration) error {
	if err := a.WorkOn(r.Name); err != nil {
		return err
	}
	pid, err := agent.Running()
	if err == nil && pid != 0 {
		err = a.Shutdown(timeout)
	}
	if err != nil {
		return err
	}
	return a.WorkOn(agent.OwnController)
}
