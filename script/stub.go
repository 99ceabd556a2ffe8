package script

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// stubCommands play applications that have no charm.
func stubCommands() []Cmd {
	return []Cmd{
		{Name: "stub", Args: "[--principal] APPLICATION ENDPOINT:INTERFACE[:ROLE]…", Summary: "make an application without a charm, whose unit the script plays; the role is provider, requirer or peer; with --principal, subordinates can live beside its units, and it needs no endpoint", run: (*call).stub},
		{Name: "stub-join", Args: "APPLICATION [NUMBER]", Summary: "add a unit to a stub, or NUMBER units", run: (*call).stubJoin},
		{Name: "stub-set", Args: "UNIT [ENDPOINT] KEY=VALUE… | --app APPLICATION [ENDPOINT] KEY=VALUE…", Summary: "write to a stub's databag, of its unit or its application; KEY= deletes; without a relation, it is kept for the first one", run: (*call).stubSet},
		{Name: "stub-leave", Args: "UNIT", Summary: "remove a unit of a stub", run: (*call).stubLeave},
	}
}

// stubCharm names the charm of stubs, which has no hooks: agents take its units
// into and out of relations as they do any others.
const stubCharm = "stub"

func (c *call) stub() error {
	args := c.args
	principal := len(args) > 0 && args[0] == "--principal"
	if principal {
		args = args[1:]
	}
	if len(args) < 2 && !(principal && len(args) == 1) {
		return c.usagef("expected an application and its endpoints")
	}
	name := args[0]
	sections := map[string][]string{}
	for _, spec := range args[1:] {
		part := strings.Split(spec, ":")
		role := "provider"
		if len(part) == 3 {
			role = part[2]
		}
		section, ok := map[string]string{"provider": "provides", "requirer": "requires", "peer": "peers"}[role]
		if len(part) < 2 || len(part) > 3 || !ok {
			return c.usagef("%q is not ENDPOINT:INTERFACE or ENDPOINT:INTERFACE:ROLE", spec)
		}
		sections[section] = append(sections[section], fmt.Sprintf("  %s: {interface: %s}", part[0], part[1]))
	}
	metadata := "name: " + stubCharm + "\nsummary: played by a script\n"
	for _, section := range []string{"provides", "requires", "peers"} {
		if lines := sections[section]; len(lines) > 0 {
			metadata += section + ":\n" + strings.Join(lines, "\n") + "\n"
		}
	}
	dir := filepath.Join(c.dir, "stubs", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte(metadata), 0o600); err != nil {
		return errors.Trace(err)
	}
	deploy := []string{"deploy", dir, name}
	if !principal { // nothing of a stub runs, but a subordinate runs on its principal's machine
		deploy = append(deploy, "--isolate="+model.IsolateOff)
	}
	return c.unitd(deploy)
}

// stubOf is the application, which has to be a stub.
func (c *call) stubOf(name string) (*state.Model, state.CharmDoc, error) {
	m, err := c.model()
	if err != nil {
		return nil, state.CharmDoc{}, err
	}
	app, err := m.Application(c.ctx, name)
	if err != nil {
		return nil, state.CharmDoc{}, misuse{err}
	}
	charm, err := m.Charm(c.ctx, app.Charm)
	if err == nil && charm.Charm.Name != stubCharm {
		err = misuse{fmt.Errorf("%s is not a stub: its charm writes its databags", name)}
	}
	return m, charm, err
}

func (c *call) stubJoin() error {
	number := "1"
	switch len(c.args) {
	case 1:
	case 2:
		number = c.args[1]
		if n, err := strconv.Atoi(number); err != nil || n < 1 {
			return c.usagef("%q is not a number of units", number)
		}
	default:
		return c.usagef("expected an application, and perhaps a number of units")
	}
	if _, _, err := c.stubOf(c.args[0]); err != nil {
		return err
	}
	return c.unitd([]string{"add-unit", c.args[0], "-n", number})
}

func (c *call) stubLeave() error {
	name, _, err := c.known()
	if err != nil {
		return err
	}
	if _, _, err := c.stubOf(name.Application()); err != nil {
		return err
	}
	return c.unitd([]string{"remove-unit", string(name)})
}

func (c *call) stubSet() error {
	args := c.args
	application := len(args) > 0 && args[0] == "--app"
	if application {
		args = args[1:]
	}
	if len(args) < 2 {
		return c.usagef("expected who, and KEY=VALUE")
	}
	who, args := args[0], args[1:]
	unit := model.UnitName(who)
	if !application {
		var err error
		if unit, err = model.ParseUnitName(who); err != nil {
			return c.usagef("%v", err)
		}
		who = unit.Application()
	}
	m, charm, err := c.stubOf(who)
	if err != nil {
		return err
	}
	said := saying{model: m.Name(), unit: unit}
	if application {
		said.unit, said.application = "", who
	}
	if !strings.Contains(args[0], "=") {
		said.endpoint, args = args[0], args[1:]
	}
	if said.bag, err = c.settings(args); err != nil {
		return err
	}
	endpoints := charm.Charm.EndpointsOf(who)
	if said.endpoint != "" && !slices.ContainsFunc(endpoints, func(e model.Endpoint) bool { return e.Name == said.endpoint }) {
		return c.usagef("%s has no endpoint %q", who, said.endpoint)
	}
	if !application {
		if _, err := m.Unit(c.ctx, unit); err != nil {
			return misuse{err}
		}
	}
	done, err := c.say(m, said)
	if err == nil && !done {
		c.early = append(c.early, said)
	}
	return err
}

func (c *call) settings(args []string) (model.Settings, error) {
	bag := model.Settings{}
	for _, arg := range args {
		k, v, ok := strings.Cut(arg, "=")
		if !ok || k == "" {
			return nil, c.usagef("expected KEY=VALUE, got %q", arg)
		}
		bag[k] = v
	}
	if len(bag) == 0 {
		return nil, c.usagef("expected KEY=VALUE")
	}
	return bag, nil
}
