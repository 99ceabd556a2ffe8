package tools

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

// How long a hook may ask to wait. The shortest keeps a charm that asks every
// time from keeping its machine busy.
const (
	requeueLeast = time.Second
	requeueMost  = 30 * 24 * time.Hour
)

func unitdRequeueTool() Tool {
	return Tool{
		Name:    "unitd-requeue",
		Args:    "[<reason>]",
		Summary: "run this hook again later",
		Details: `If the hook succeeds it runs again, when that time has passed and nothing else is due;
the unit is in no error meanwhile, and other hooks run. It doesn't if it has run for
another reason before, or if what it tells of is gone: the relation, the remote
unit, the storage, the leadership. The last call in a hook is the one that holds.
Without it, a hook that runs again isn't run a third time.

Only unitd has this tool, and not for hooks of what is going: stop, remove, the
departed and broken of relations, the detaching of storage.`,
		make: func(c *hookcontext.Context) command { return &unitdRequeue{ctx: c} },
	}
}

type unitdRequeue struct {
	ctx    *hookcontext.Context
	after  waitFlag
	reason string
}

func (t *unitdRequeue) declare(f *flags) {
	t.after = waitFlag(30 * time.Second)
	f.Var(&t.after, "after", "Wait at least that long: 30s, 5m, 2h, 7d")
}

func (t *unitdRequeue) parse(args []string) (err error) {
	t.reason, err = optional(args)
	t.reason = oneLine(t.reason)
	return err
}

// waitFlag is how long to wait: a duration as Go writes it, which may begin with
// days.
type waitFlag time.Duration

// String is the flag's default as help shows it.
func (w *waitFlag) String() string { return time.Duration(*w).String() }

// Set is part of gnuflag.Value.
func (w *waitFlag) Set(s string) error {
	var days time.Duration
	rest := s
	if count, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(count, 10, 16)
		if err != nil {
			return errNoWait
		}
		days, rest = time.Duration(n)*24*time.Hour, cmp.Or(after, "0s")
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return errNoWait
	}
	if d += days; d < requeueLeast || d > requeueMost {
		return errors.New("it must be between 1s and 30d")
	}
	*w = waitFlag(d)
	return nil
}

const errNoWait = errors.ConstError("expected it as 30s, 5m, 2h or 7d")

// oneLine is text for people, of one line that isn't long.
func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func (t *unitdRequeue) run(*call) error { return t.ctx.Requeue(time.Duration(t.after), t.reason) }
