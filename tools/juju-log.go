package tools

import (
	"fmt"
	"strings"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func jujuLogTool() Tool {
	return Tool{
		Name:    "juju-log",
		Args:    "<message>",
		Summary: "write a message to the log",
		Details: `Arguments are joined by blanks. Levels are TRACE, DEBUG, INFO, WARNING, ERROR and
CRITICAL, in any case; a message of an unknown level is logged at INFO.`,
		make: func(c *hookcontext.Context) command { return &jujuLog{ctx: c} },
	}
}

type jujuLog struct {
	ctx     *hookcontext.Context
	debug   bool
	level   string
	message string
}

func (t *jujuLog) declare(f *flags) {
	f.BoolVar(&t.debug, "debug", false, "Log at debug level")
	f.StringVar(&t.level, "l", "INFO", "Send log message at the given level")
	f.StringVar(&t.level, "log-level", "INFO", "")
	f.declareDeadFormat()
}

func (t *jujuLog) parse(args []string) error {
	if len(args) == 0 {
		return errors.New("no message specified")
	}
	t.message = strings.Join(args, " ")
	return nil
}

func (t *jujuLog) run(*call) error {
	const info, warning, debug = "INFO", "WARNING", "DEBUG"
	level := strings.ToUpper(t.level)
	switch level {
	case "TRACE", debug, info, warning, "ERROR", "CRITICAL":
	case "WARN":
		level = warning
	case "UNSPECIFIED":
		level = info
	default:
		t.ctx.Log(warning, fmt.Sprintf("log level of message unknown; got: %s", t.level))
		level = info
	}
	if t.debug {
		level = debug
	}
	t.ctx.Log(level, t.message)
	return nil
}
