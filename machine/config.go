package machine

import (
	"context"
	"log/slog"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Config says what an agent runs with.
type Config struct {
	Controller *state.Controller
	// Dir has the agent's files: models/<uuid>/agents/unit-x-0, and others.
	Dir string
	// Disk is what those files are written to; the zero value is the disk.
	Disk durable.Disk
	// Client is the program that hook tool names lead to, by a copy for each unit.
	Client string
	// ToolClient, where there is one, takes its place for what hooks call: one that
	// starts faster, and knows the hook tools alone.
	ToolClient string
	Clock      clock.Clock
	// Rounds, where it is set, says when the agent makes one of its rounds, in
	// which it looks for what nobody has told it of, and keeps its lease: the
	// channel gets, d after the call at the earliest, what the agent calls once that
	// round is over; ctx is over when nobody waits for it any more. nil: a round is
	// made when its time on Clock has come. Test worlds make by it time pass in
	// which nothing is due, at no cost.
	Rounds func(ctx context.Context, d time.Duration) <-chan func()
	// LeaseTime is how long presence and leadership outlive an agent that was
	// killed; 0: a minute.
	LeaseTime time.Duration
	Log       *slog.Logger
	Host      Host
	// Look, where it is set, says how the host is now, instead of Host; the agent
	// asks at its start and every 20 seconds, so it must be quick. What has
	// changed is told to the models: units are reached by other addresses, say.
	Look func() Host
	// Machine is the machine that this agent has joined a model as; nil: the agent
	// has the models, and the machines of state.LocalProvider.
	Machine *Machine
	// TakeOver: a person says that this agent shall manage the models that another
	// one has managed, which is gone for good.
	TakeOver bool
	// Provisioners see to hosts for machines, by state.MachineDoc.Provider, in an
	// agent that has the models; nil: those that there are, see Provisioner.
	Provisioners map[string]Provisioner
	// Version is unitd's, for recordings.
	Version string
	// Reaper is that of this process, if it has one; see runner.Adopt.
	Reaper *runner.Reaper
	// Reboot reboots the machine when a charm asks for it; nil: the agent has no
	// leave to, and such wishes are only logged.
	Reboot func() error
	// Room says whether there is room on the disk for what a hook's run has to
	// write down; while it gives an error no hook begins. nil: RoomOn of Dir.
	Room func() error
	// Reserve, where it is set, sees to it that the store has its reserve of room;
	// see sqlite.Store.Reserve. It is called now and then.
	Reserve func() error
	// HooksAtOnce is how many hooks begin at once, over all models; 0: as many as the
	// host's processors and memory allow. See slots.
	HooksAtOnce int
	// Cells are the machines of isolated units; nil: those of Dir, for an agent
	// whose units can't be isolated. See NewCells.
	Cells *isolate.Cells
	// Shared are directories that isolated units see at the same path, beside Dir.
	Shared []string
	// Environment are more variables, NAME=VALUE, for all hooks and commands.
	Environment []string
	// TunnelPort is the UDP port where this host waits for those whose isolated units it is to
	// reach; 0: any; negative: it reaches none.
	TunnelPort int
	// Mounts says whether storage may be mounted; see package storage.
	Mounts bool
	// At is called at each Point of each hook run, on the goroutine of the
	// unit's agent or of a hook tool call, which waits for it; nil: nobody wants
	// to know. An error at PointHook or PointEnded is the failure of the hook.
	At func(context.Context, Point) error
	// Instead, where it is set, names the program that a run, by its number, of a unit of the
	// model with that UUID runs in place of the charm's executable; empty: that one runs. It is asked again when Twice has
	// the same run executed a second time.
	Instead func(uuid string, unit model.UnitName, run int64, h hooks.Info) string
	// Around, where it is set, runs the programs of hooks in place of the agent, by the
	// function that it gets, or does what such a program would do; see Program. nil: they
	// are run. Tasks and second runs (Twice) are always run.
	Around func(ctx context.Context, p Program, run RunProgram) runner.Outcome
	// SecretID makes the id for a secret that a unit of a model is about to make; nil: it is
	// chance.
	SecretID func(modelName string, unit model.UnitName) (model.SecretID, error)
	// Reopen has the agent let go of logs that somebody has renamed or removed, and
	// begin new ones, each time that it gets something; nil: it finds out by itself.
	Reopen <-chan struct{}
	// Ready is called once hooks can run: what keeps an agent from starting has
	// not happened then; nil: nobody wants to know.
	Ready func()
	// StatusPassed, where it is set, says up to when update-status counts as run for
	// a unit of a model (its UUID) though it wasn't. Test worlds leave out by it those
	// that would change nothing. nil, or zero: it counts from its runs alone.
	StatusPassed func(model string, unit model.UnitName) time.Time
	// SecretsPassed is the same for secret-expired and secret-rotate that would come again.
	SecretsPassed func(model string, unit model.UnitName) time.Time
	// Show answers who asks the agent, by AskToShow, to show a model; see Showing.
	// nil: nobody does.
	Show Showing
	// Twice says whether hooks are run a second time, to find those for which
	// that makes a difference; see TwiceModule. nil: no.
	Twice func() bool
	// Still is told when nothing happens any more because units stand still at a
	// Point, and up to which revision that is so; nil: nobody wants to know.
	Still func(rev int64)
	// Busy is told, each time that the agent looks whether all of a model is done, why it isn't, or
	// with "" that it may be; nil: nobody wants to know.
	Busy func(model, why string)
	// Gate, where it is set, has hooks run one at a time in an order of its own:
	// whenever nothing happens by itself any more and units wait to run a hook,
	// it says which of them does. What is due is decided anew once a unit is let
	// in. Tests make by it worlds in which nothing is left to chance; nil: units
	// run side by side.
	Gate func(waiting []model.UnitName) model.UnitName
	// Containers, where it is set, has nothing count as settled, and Gate let nobody
	// in, while something is on its way from workload containers; nil: nobody waits
	// for those.
	Containers *Containers
	// Handed is what a former agent of this process has handed over; nil: nothing.
	Handed *Handover
	// Upgrade has who asks the agent to become another program, by AskToUpgrade, be
	// answered; nil: it doesn't.
	Upgrade func(ctx context.Context, handOver HandOver, program string) error
	// Keys are those for secrets that are shared with other hosts; nil: none are.
	Keys Keys
	// OpenExternal opens the stores of models of which the models here have consumed offers, for an
	// agent that has the models; nil: relations with those stand still.
	OpenExternal OpenExternal
	// Session answers who asks from another host for a session here, by AskForSession: of a
	// model (its UUID), with that print. The error says for people why there is none. nil: the
	// agent has no leave to.
	Session func(model, print string) (SessionDoor, error)
	// Tracer follows what hooks come from; nil: nobody does, and nothing of it is written.
	Tracer Tracer
	// Observer is told of hook runs, log lines and images as they happen; may be nil.
	// It must be quick, and may be called many times at once.
	Observer func(Event)

	// cgroups are those of the hooks; nil: there may be none.
	cgroups *runner.Cgroups
	// charms are those of all units; nil: no unit has an agent.
	charms *charmdir.Store
	// manager is what this agent manages the models as; nil: it has joined one.
	manager *state.ManagerDoc
}
