package tools

import (
	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func statusGetTool() Tool {
	return Tool{
		Name:    "status-get",
		Summary: "print the status of the unit or application",
		Details: `Prints the status word, with --include-data also the message. It is the status
as it was when the hook first asked: a status-set of the same hook doesn't show.
--application, for the leader only, prints the application's status and that of
its units.`,
		make: func(c *hookcontext.Context) command { return &statusGet{ctx: c} },
	}
}

type statusGet struct {
	ctx         *hookcontext.Context
	includeData bool
	application bool
	out         output
}

func (t *statusGet) declare(f *flags) {
	f.BoolVar(&t.includeData, "include-data", false, "Print all status data")
	f.BoolVar(&t.application, "application", false, "Print the status of all units of this application, if the unit leads it")
	t.out.declare(f, smart, inYAML, inJSON)
}

func (t *statusGet) parse(args []string) error { return noMore(args) }

func (t *statusGet) run(c *call) error {
	if t.application {
		return t.runApplication(c)
	}
	status, err := t.ctx.UnitStatus()
	if err != nil {
		return err
	}
	if t.wordOnly() {
		return t.out.write(c, status.Status)
	}
	return t.out.write(c, t.details(status))
}

func (t *statusGet) runApplication(c *call) error {
	status, err := t.ctx.ApplicationStatus()
	if err != nil {
		return err
	}
	if t.wordOnly() {
		return t.out.write(c, status.Application.Status)
	}
	units := map[string]any{}
	for unit, s := range status.Units {
		units[string(unit)] = t.details(s)
	}
	application := t.details(status.Application)
	application["units"] = units // inside it, odd as that is: charms look there
	return t.out.write(c, map[string]any{"application-status": application})
}

func (t *statusGet) wordOnly() bool { return !t.includeData && t.out.format.name == smart }

func (t *statusGet) details(s model.Status) map[string]any {
	details := map[string]any{"status": s.Status}
	if !t.includeData {
		return details
	}
	data := s.Data
	if data == nil {
		data = map[string]any{}
	}
	details["message"] = s.Message
	details["status-data"] = data
	return details
}
