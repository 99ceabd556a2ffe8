package script

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/workload"
)

// pebbleCheck has a check stand as the script wants. It is performed now, whatever
// its period, as often as its threshold wants. Where it then stands otherwise, as
// what it looks at is so, it is replaced by one that looks at a file of the
// script's.
func (c *call) pebbleCheck() error {
	if len(c.args) != 4 || c.args[3] != "up" && c.args[3] != "down" {
		return c.usagef("expected a unit, a container, a check, and up or down")
	}
	k, err := c.container(4)
	if err != nil {
		return err
	}
	p, err := c.pebble(k)
	if err != nil {
		return err
	}
	x := check{client: p, name: c.args[2], want: c.args[3], scratch: filepath.Dir(c.socket(k))}
	now, err := x.now(c.ctx)
	switch {
	case errors.Is(err, errors.NotFound):
		return misuse{fmt.Errorf("%s has no check %q%s", k, x.name, x.others(c.ctx))}
	case err != nil:
		return pebbleSays(k, err)
	case now.Status == "inactive":
		return errors.Errorf("the check %s of %s doesn't run: its charm has to start it", x.name, k)
	case now.Status == x.want:
		return nil
	}
	if err := x.bringAbout(c.ctx, now); err != nil {
		return pebbleSays(k, err)
	}
	return nil
}

// check is a check of a workload container that is to stand in some way.
type check struct {
	client     *pebble.Client
	name, want string
	scratch    string // the container's scratch directory, on the host
}

// now is how it stands. NotFound where there is no such check.
func (x check) now(ctx context.Context) (pebble.Check, error) {
	checks, err := x.client.Checks(ctx, pebble.LevelUnset, x.name)
	if err == nil && len(checks) == 0 {
		err = errors.NotFoundf("check %q", x.name)
	}
	if err != nil {
		return pebble.Check{}, errors.Trace(err)
	}
	return checks[0], nil
}

// others says which checks there are.
func (x check) others(ctx context.Context) string {
	checks, err := x.client.Checks(ctx, pebble.LevelUnset)
	if err != nil || len(checks) == 0 {
		return "; it has none"
	}
	var names []string
	for _, c := range checks {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return "; it has " + strings.Join(names, ", ")
}

// bringAbout has the check stand so that stands otherwise.
func (x check) bringAbout(ctx context.Context, now pebble.Check) error {
	definition, owned, err := x.definition(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	if !owned {
		done, err := x.perform(ctx, now)
		if err != nil || done {
			return errors.Trace(err)
		}
		if x.want == "up" {
			return errors.Errorf("the check %s is down because of what it looks at: mend that first", x.name)
		}
		// Its file is there first: it begins up, as any check does.
		if err := os.WriteFile(x.file(), nil, 0o644); err != nil {
			return errors.Trace(err)
		}
		if err := x.replace(ctx, definition); err != nil {
			return errors.Trace(err)
		}
	}
	if x.want == "up" {
		err = os.WriteFile(x.file(), nil, 0o644)
	} else {
		err = os.Remove(x.file())
	}
	if err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	if now, err = x.now(ctx); err != nil {
		return errors.Trace(err)
	}
	done, err := x.perform(ctx, now)
	if err == nil && !done {
		err = errors.Errorf("the check %s doesn't become %s", x.name, x.want)
	}
	return errors.Trace(err)
}

// perform performs the check until it stands as is wanted, and until Pebble has
// given the notice of that; done is false once it is clear that it won't.
func (x check) perform(ctx context.Context, before pebble.Check) (done bool, err error) {
	times := max(before.Threshold, 1)
	for i := range times {
		now, fault, err := x.client.RefreshCheck(ctx, x.name)
		switch {
		case err != nil:
			return false, errors.Trace(err)
		case (fault == "") != (x.want == "up"):
			return false, nil
		case now.Status == x.want, x.want == "up", i == times-1: // what it answers may be of just before
			return true, errors.Trace(x.await(ctx, before.Change))
		}
	}
	return false, nil
}

// await waits until a check that has come to stand as is wanted is performed by
// another change than before: the notice of how the former one has ended is given
// then.
func (x check) await(ctx context.Context, former string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		now, err := x.now(ctx)
		if err != nil || now.Status == x.want && now.Change != former {
			return errors.Trace(err)
		}
		select {
		case <-ctx.Done():
			return errors.Errorf("Pebble doesn't tell that the check %s is %s", x.name, x.want)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// file is what a check that the script has replaced looks for, on the host.
func (x check) file() string { return filepath.Join(x.scratch, "check-"+url.PathEscape(x.name)) }

// command is the program of such a check: every container has that one.
func (x check) command() string {
	return workload.Program + " ls " + workload.Scratch + "/" + filepath.Base(x.file())
}

// definition is the check as the plan has it; owned: the script has replaced it.
func (x check) definition(ctx context.Context) (definition map[string]any, owned bool, err error) {
	text, err := x.client.Plan(ctx)
	if err != nil {
		return nil, false, errors.Trace(err)
	}
	var plan struct {
		Checks map[string]map[string]any `yaml:"checks"`
	}
	if err := yaml.Unmarshal([]byte(text), &plan); err != nil {
		return nil, false, errors.Annotate(err, "cannot read Pebble's plan")
	}
	definition = plan.Checks[x.name]
	exec, _ := definition["exec"].(map[string]any)
	return definition, exec["command"] == x.command(), nil
}

// replace puts a check in the place of the defined one that is the same but for what
// it looks at, and is performed by the script alone.
func (x check) replace(ctx context.Context, definition map[string]any) error {
	own := map[string]any{
		"override": "replace", "period": "24h", "timeout": "1m", "exec": map[string]any{"command": x.command()},
	}
	for _, key := range []string{"level", "startup", "threshold"} {
		if v, ok := definition[key]; ok {
			own[key] = v
		}
	}
	layer, err := yaml.Marshal(map[string]any{"checks": map[string]any{x.name: own}})
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(x.client.AddLayer(ctx, pebble.Layer{Label: "unitd-test", YAML: string(layer), Combine: true}))
}
