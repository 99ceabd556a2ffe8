package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// lookCommands show what there is.
func lookCommands() []Cmd {
	return []Cmd{
		{Name: "hooks", Args: "UNIT [HOOK…]", Summary: "show the unit's hooks with their causes; with hooks named, the sequence must be exactly that", run: (*call).hooks},
		{Name: "history", Args: "UNIT [N] [--files | --diff]", Summary: "show the unit's hook runs, or all that is known of one; with --files also the files that each has made (+), changed (M) or removed (-), with --diff what a run has changed in them", run: (*call).history},
		{Name: "relation-data", Args: "UNIT ENDPOINT [REMOTE]", Summary: "show a databag of a relation: the unit's own, or that of a remote unit or application", run: (*call).relationData},
		{Name: "log", Args: "[--new] UNIT", Summary: "show what the unit has logged; with --new, in the last settle, advance, run-hooks or run", run: (*call).showLog},
	}
}

// unit reads the unit's name that is the first argument; the unit may be gone.
func (c *call) unit() (model.UnitName, error) {
	if len(c.args) == 0 {
		return "", c.usagef("no unit specified")
	}
	name, err := model.ParseUnitName(c.args[0])
	if err != nil {
		return "", c.usagef("%v", err)
	}
	return name, nil
}

// known is unit for one that there is, or that has run a hook.
func (c *call) known() (model.UnitName, *state.Model, error) {
	name, err := c.unit()
	if err != nil {
		return "", nil, err
	}
	m, err := c.model()
	if err != nil {
		return "", nil, err
	}
	if _, err := m.Unit(c.ctx, name); err == nil {
		return name, m, nil
	}
	if runs, err := c.runs(m, name); err == nil && len(runs) > 0 {
		return name, m, nil
	}
	return "", nil, misuse{fmt.Errorf("there is no unit %q%s", name, c.others(m))}
}

// others says which units there are.
func (c *call) others(m *state.Model) string {
	units, err := m.Units(c.ctx)
	if err != nil || len(units) == 0 {
		return ""
	}
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = string(u.Name)
	}
	return "; there are " + strings.Join(names, ", ")
}

// runs are the hook runs of a unit.
func (w *world) runs(m *state.Model, unit model.UnitName) ([]history.Entry, error) {
	return history.Read(machine.HistoryDir(w.dir, m.UUID()), unit)
}

// word is a run as "hooks" compares it: the hook, the remote unit, the storage,
// the notice's key or the check in brackets, and what became of it if it wasn't committed.
func word(e history.Entry) string {
	s := e.Name
	if e.Hook.RemoteUnit != "" {
		s += "(" + string(e.Hook.RemoteUnit) + ")"
	}
	if e.Hook.Storage != "" {
		s += "(" + string(e.Hook.Storage) + ")"
	}
	if about := e.Hook.About(); about != "" {
		s += "(" + about + ")"
	}
	if e.Outcome != history.Committed {
		s += "=" + string(e.Outcome)
	}
	return s
}

func (c *call) hooks() error {
	name, m, err := c.known()
	if err != nil {
		return err
	}
	runs, err := c.runs(m, name)
	if err != nil {
		return err
	}
	c.printf("") // no hooks are none, not what the last command has
	var have []string
	for _, run := range runs {
		if run.Hook.Kind == hooks.Exec && c.probes[run.Hook.Task] {
			continue // the script has looked; the unit hasn't done anything
		}
		have = append(have, word(run))
		c.printf("%-32s %s\n", word(run), run.Cause())
	}
	want := c.args[1:]
	for _, w := range want {
		if err := c.possible(w); err != nil {
			return err
		}
	}
	if len(want) == 0 || matches(have, want) {
		return nil
	}
	return errors.Errorf("hooks of %s:\nhave %s\nwant %s", name, strings.Join(have, " "), strings.Join(want, " "))
}

// outcomes are the ways for a run to end that "hooks" shows behind a "=".
var outcomes = []history.Outcome{history.Failed, history.Interrupted, history.Stopped, history.Skipped, history.Dropped, history.CutShort}

// possible says whether a word can be one that "hooks" shows, so that a slip of
// the pen after "!" isn't a claim that always holds.
func (c *call) possible(want string) error {
	if want == "..." {
		return nil
	}
	hook, outcome, ended := strings.Cut(want, "=")
	if ended && !slices.Contains(outcomes, history.Outcome(outcome)) {
		return c.usagef("%q: no hook run ends as %q; there are %v", want, outcome, outcomes)
	}
	hook, remote, bracket := strings.Cut(hook, "(")
	if bracket {
		_, err := model.ParseUnitName(strings.TrimSuffix(remote, ")"))
		if err != nil && !strings.Contains(hook, "-pebble-") || !strings.HasSuffix(remote, ")") {
			return c.usagef("%q: a remote unit or storage stands in brackets, as in db-relation-joined(ledger/0)", want)
		}
	}
	if isTask(hook) {
		return nil
	}
	var names []string
	for _, k := range hooks.Kinds() {
		name := string(k.Kind)
		if prefix := k.Prefix(); prefix != "" {
			if strings.HasSuffix(hook, "-"+name) {
				return nil
			}
			name = strings.ToUpper(prefix) + "-" + name
		}
		if hook == name {
			return nil
		}
		names = append(names, name)
	}
	return c.usagef("there is no hook %q; there are %s", hook, strings.Join(names, ", "))
}

// matches says whether the words are the wanted ones; "..." stands for any
// number of them.
func matches(have, want []string) bool {
	if len(want) == 0 {
		return len(have) == 0
	}
	if want[0] == "..." {
		for i := range len(have) + 1 {
			if matches(have[i:], want[1:]) {
				return true
			}
		}
		return false
	}
	return len(have) > 0 && have[0] == want[0] && matches(have[1:], want[1:])
}

func (c *call) relationData() error {
	c.printf("") // nothing printed is nothing, not what the last command has
	if len(c.args) < 2 || len(c.args) > 3 {
		return c.usagef("expected a unit and an endpoint")
	}
	name, m, err := c.known()
	if err != nil {
		return err
	}
	detail, err := m.ShowUnit(c.ctx, name)
	if err != nil {
		return err
	}
	endpoints := map[string]bool{}
	var bags []model.Settings
	for _, r := range detail.Relations {
		endpoints[r.Own.Name] = true
		if r.Own.Name != c.args[1] {
			continue
		}
		switch {
		case len(c.args) == 2:
			bags = append(bags, r.Local)
		case c.args[2] == r.Other.Application:
			bags = append(bags, r.Application)
		}
		for _, remote := range r.Remote {
			if len(c.args) == 3 && c.args[2] == string(remote.Unit) {
				bags = append(bags, remote.Settings)
			}
		}
	}
	if !endpoints[c.args[1]] {
		return c.noRelation(m, name, slices.Sorted(maps.Keys(endpoints)))
	}
	if len(bags) == 0 {
		return errors.Errorf("%s is in no relation by %q with %q", name, c.args[1], c.args[2])
	}
	for _, bag := range bags {
		for _, k := range slices.Sorted(maps.Keys(bag)) {
			c.printf("%s: %s\n", k, bag[k])
		}
	}
	return nil
}

// noRelation is the error of a unit that is in no relation by the endpoint that
// the arguments name; in those it is in only by others.
func (c *call) noRelation(m *state.Model, unit model.UnitName, others []string) error {
	app, err := m.Application(c.ctx, unit.Application())
	if err != nil {
		return err
	}
	charm, err := m.Charm(c.ctx, app.Charm)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range charm.Charm.EndpointsOf(app.Name) {
		names = append(names, e.Name)
	}
	endpoint := c.args[1]
	switch {
	case !slices.Contains(names, endpoint):
		return c.usagef("%s has no endpoint %q; it has %s", app.Name, endpoint, strings.Join(names, ", "))
	case len(others) == 0:
		return errors.Errorf("%s has no relation by endpoint %q, nor by another one", unit, endpoint)
	}
	return errors.Errorf("%s has no relation by endpoint %q; it has some by %s", unit, endpoint, strings.Join(others, ", "))
}

func (c *call) showLog() error {
	c.printf("") // nothing printed is nothing, not what the last command has
	all := len(c.args)
	c.args = slices.DeleteFunc(slices.Clone(c.args), func(arg string) bool { return arg == "--new" })
	if len(c.args) != 1 {
		return c.usagef("expected a unit")
	}
	name, m, err := c.known()
	if err != nil {
		return err
	}
	var from debuglog.Spot
	if len(c.args) < all {
		if c.change == nil {
			return errors.New("nothing was waited for yet, in which it could have logged something")
		}
		from = c.change.logs[m.UUID()]
	}
	sources := c.sources(m)
	return debuglog.ReadSince(machine.LogPath(c.dir, m.UUID()), from, func(e debuglog.Entry) error {
		if e.Entity == name.Tag() {
			text := strings.Join(debuglog.Lines(sources.Text(e.Entity, e.Message)), "\n    ")
			c.printf("%s %s %s\n", e.Level, strings.TrimPrefix(e.Module, "unit."+string(name)+"."), text)
		}
		return nil
	})
}
