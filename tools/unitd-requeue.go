package tools

import (
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
	after  time.Duration
	reason string
}

func (t *unitdRequeue) declare(f *flags) {
	f.DurationVar(&t.after, "after", 30*time.Second, "Wait at least that long: 30s, 5m, 2h")
}

func (t *unitdRequeue) parse(args []string) (err error) {
	if t.after < requeueLeast || t.after > requeueMost {
		return errors.Errorf("invalid value %q for option --after: it must be between %s and %s", t.after, requeueLeast, requeueMost)
	}
	t.reason, err = optional(args)
	t.reason = oneLine(t.reason)
	return err
}

// oneLine is text for people, of one line that isn't long.
func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func (t *unitdRequeue) run(*call) error { return t.ctx.Requeue(t.after, t.reason) }
