package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// logFlags are the flags of debug-log.
type logFlags struct {
	debuglog.Filter
	limit, lines         int
	tail, noTail, replay bool
	date, utc            bool
	color                bool
	format               string
	begins               bool // lines was said
}

// newest is how many of the last lines are shown first; 0: all. One that ends shows what
// there is, unless it is told how much.
func (f logFlags) newest(limited, ends bool) int {
	switch {
	case limited:
		return f.limit
	case f.replay || ends && !f.begins:
		return 0
	}
	return f.lines
}

func (a statusVerbs) debugLogCmd() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "debug-log",
		Short: "Show what hooks and agents have logged",
		Long: `Show the log of the model, of all its hosts. On a terminal it starts with the last lines and goes
on with new ones until Ctrl-C; in a pipe it shows what there is and ends.

An entity is a unit (shop/0), an application (shop: all its units), a machine
(machine-0), or a pattern with *. A module stands for those below it: unit.shop/0
has the output of its hooks, unit.shop/0.juju-log what the charm logs, unitd what
the agent says. Indented lines belong to the message above them.

With --format json or logfmt, each entry is one line for programs, with its time in
UTC, however many lines its message has.`,
		Example: `  unitd debug-log
  unitd debug-log --replay --include shop/0 --level WARNING
  unitd debug-log --limit 20 --exclude-module unitd
  unitd debug-log --format json --tail`,
		Args: Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.begins = cmd.Flags().Changed("lines")
			return a.debugLog(cmd.Flags().Changed("limit"), f)
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&f.limit, "limit", 0, "show this many of the newest lines, and end (0: all)")
	fs.IntVarP(&f.lines, "lines", "n", 10, "begin with this many of the last lines")
	fs.BoolVar(&f.tail, "tail", false, "go on with new lines, even in a pipe")
	fs.BoolVar(&f.noTail, "no-tail", false, "end when all that there is was shown")
	fs.BoolVar(&f.replay, "replay", false, "begin with the first line")
	fs.StringArrayVarP(&f.Include, "include", "i", nil, "show only this entity; may be repeated")
	fs.StringArrayVarP(&f.Exclude, "exclude", "x", nil, "leave out this entity; may be repeated")
	fs.StringArrayVar(&f.IncludeModule, "include-module", nil, "show only this module; may be repeated")
	fs.StringArrayVar(&f.ExcludeModule, "exclude-module", nil, "leave out this module; may be repeated")
	fs.StringVarP(&f.Level, "level", "l", "", "the least severe level to show: TRACE, DEBUG, INFO, WARNING or ERROR")
	fs.BoolVar(&f.date, "date", false, "show dates too")
	fs.BoolVar(&f.utc, "utc", false, "show times in UTC")
	fs.BoolVar(&f.color, "color", false, "use colours even if this is not a terminal")
	fs.StringVar(&f.format, "format", "text", "text; json: an object for each entry; or logfmt: key=value")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(render.LogFormats(), cobra.ShellCompDirectiveNoFileComp))
	for _, flag := range []string{"include", "exclude"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, a.completeUnits)
	}
	_ = cmd.RegisterFlagCompletionFunc("level", cobra.FixedCompletions(debuglog.Levels(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a statusVerbs) debugLog(limited bool, f logFlags) error {
	f.Level = strings.ToUpper(f.Level)
	switch {
	case f.Level != "" && !slices.Contains(debuglog.Levels(), f.Level):
		return Usagef("level value %q is not one of %q", f.Level, debuglog.Levels())
	case !slices.Contains(render.LogFormats(), f.format):
		return Usagef("invalid value %q for option --format: unknown format %q", f.format, f.format)
	case f.limit < 0 || f.lines < 0:
		return Usagef("--limit and --lines must not be negative")
	case f.tail && f.noTail:
		return Usagef("setting --tail and --no-tail not valid")
	case f.tail && limited:
		return Usagef("setting --tail and --limit not valid")
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	path := machine.LogPath(dir, m.UUID())
	sources := a.sources(m)
	colours := f.color || terminal.Colourful(a.Out)
	show := func(e debuglog.Entry) error {
		e.Message = sources.Text(e.Entity, e.Message)
		line := render.LogLine(e, f.utc, f.date, colours)
		if f.format != "text" {
			line = render.LogRecord(e, f.format)
		}
		_, err := io.WriteString(a.Out, line+"\n")
		return errors.Trace(err)
	}
	ends := limited || f.noTail || !f.tail && !terminal.Is(a.Out)
	others, err := a.Others(m)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return a.logOfAll(m, f.newest(limited, ends), ends, f, show)
	}
	last := newLast(f.newest(limited, ends), f.Filter, show)
	if ends {
		if err := debuglog.ReadAll(path, last.add); err != nil {
			return err
		}
		return last.flush()
	}
	if err := debuglog.Follow(a.Context(), path, last.add, last.flush); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// logOfAll shows the logs of all hosts of the model.
func (a statusVerbs) logOfAll(m *state.Model, newest int, ends bool, f logFlags, show func(debuglog.Entry) error) error {
	l := &logOfHosts{base: a.base, model: m, filter: f.Filter, show: show}
	own, others, err := l.existing(newest)
	if err != nil || ends {
		return err
	}
	if err := l.follow(a.Context(), own, others); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// last passes on the last of the entries that match, once it is flushed; from
// then on all of them. With 0 it never holds any back.
type last struct {
	n      int
	filter debuglog.Filter
	held   []debuglog.Entry
	show   func(debuglog.Entry) error
}

func newLast(n int, f debuglog.Filter, show func(debuglog.Entry) error) *last {
	return &last{n: n, filter: f, show: show}
}

func (l *last) add(e debuglog.Entry) error {
	if !l.filter.Match(e) {
		return nil
	}
	if l.n == 0 {
		return l.show(e)
	}
	if l.held = append(l.held, e); len(l.held) >= 2*l.n {
		l.held = append(l.held[:0], l.held[len(l.held)-l.n:]...)
	}
	return nil
}

func (l *last) flush() error {
	held := l.held[max(0, len(l.held)-l.n):]
	l.n, l.held = 0, nil
	for _, e := range held {
		if err := l.show(e); err != nil {
			return err
		}
	}
	return nil
}
