package script

import (
	"bytes"
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/pebble"
)

// pebbleCommands talk to the Pebbles of workload containers.
func pebbleCommands() []Cmd {
	return []Cmd{
		{Name: "notice", Args: "[--repeat-after DURATION] UNIT NAME KEY [KEY=VALUE…]", Summary: "give a custom notice in a workload container, as \"pebble notify\" does", run: (*call).notice},
		{Name: "pebble-check", Args: "UNIT NAME CHECK up|down", Summary: "perform a check until it is up or down; if it can't become so by itself, the script decides its result from then on", run: (*call).pebbleCheck},
		{Name: "pebble-services", Args: "UNIT NAME", Summary: "list the services of a workload container: name, startup, and whether they run", run: (*call).pebbleServices},
		{Name: "container-files", Args: "UNIT NAME PATH", Summary: "show a file in a workload container, or list a directory", run: (*call).containerFiles},
	}
}

// pebble is the Pebble in the container, to be asked.
func (c *call) pebble(k container) (*pebble.Client, error) {
	if _, err := c.cell(k); err != nil {
		return nil, err
	}
	return pebble.New(c.socket(k)), nil
}

// socket is that Pebble's, on the host.
func (w *world) socket(k container) string {
	return machine.PebbleSocket(filepath.Join(machine.ModelDir(w.dir, k.model), "agents", k.unit.Tag()), k.name)
}

// pebbleSays is an error of a Pebble's in one line.
func pebbleSays(k container, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pebble.ErrNotThere), errors.Is(err, pebble.ErrBroken), errors.Is(err, pebble.ErrNoAnswer):
		return errors.Errorf("the Pebble of %s doesn't answer", k)
	}
	return errors.Annotatef(err, "%s", k)
}

func (c *call) notice() error {
	n := pebble.NewNotice{}
	if len(c.args) > 1 && strings.TrimLeft(c.args[0], "-") == "repeat-after" {
		d, err := time.ParseDuration(c.args[1])
		if err != nil || d <= 0 {
			return c.usagef("%q is not a duration like 90s, 5m or 2h", c.args[1])
		}
		n.RepeatAfter, c.args = d, c.args[2:]
	}
	if len(c.args) < 3 {
		return c.usagef("expected a unit, a container and a key")
	}
	k, err := c.container(-1)
	if err != nil {
		return err
	}
	n.Key = c.args[2]
	if len(c.args) > 3 {
		if n.Data, err = c.settings(c.args[3:]); err != nil {
			return err
		}
	}
	p, err := c.pebble(k)
	if err != nil {
		return err
	}
	_, err = p.AddNotice(c.ctx, n)
	return pebbleSays(k, err)
}

func (c *call) pebbleServices() error {
	k, err := c.container(2)
	if err != nil {
		return err
	}
	c.printf("") // nothing printed is nothing, not what the last command has
	p, err := c.pebble(k)
	if err != nil {
		return err
	}
	services, err := p.Services(c.ctx)
	for _, s := range services {
		c.printf("%s %s %s\n", s.Name, s.Startup, s.Current)
	}
	return pebbleSays(k, err)
}

func (c *call) containerFiles() error {
	k, err := c.container(3)
	if err != nil {
		return err
	}
	path := c.args[2]
	if !strings.HasPrefix(path, "/") {
		return c.usagef("%q is not an absolute path", path)
	}
	c.printf("") // nothing printed is nothing, not what the last command has
	p, err := c.pebble(k)
	if err != nil {
		return err
	}
	text, err := filesAt(c.ctx, p, path)
	c.printf("%s", text)
	if errors.Is(err, errors.NotFound) {
		return errors.Errorf("%s has no %s", k, path)
	}
	return pebbleSays(k, err)
}

// filesAt is the content of a file, or what is in a directory: mode, owner and
// name.
func filesAt(ctx context.Context, p *pebble.Client, path string) (string, error) {
	itself, err := p.ListFiles(ctx, path, pebble.ListOptions{Itself: true})
	if err != nil {
		return "", errors.Trace(err)
	}
	if len(itself) != 1 || !itself[0].Mode.IsDir() {
		var b bytes.Buffer
		err := p.ReadFile(ctx, path, &b)
		return b.String(), errors.Trace(err)
	}
	files, err := p.ListFiles(ctx, path, pebble.ListOptions{})
	var lines strings.Builder
	for _, f := range files {
		lines.WriteString(strings.Join([]string{f.Mode.String(), ownerOf(f.User, f.UserID), ownerOf(f.Group, f.GroupID), f.Name}, " ") + "\n")
	}
	return lines.String(), errors.Trace(err)
}

// ownerOf is a user or a group by name, else by number.
func ownerOf(name string, id *int) string {
	switch {
	case name != "":
		return name
	case id != nil:
		return strconv.Itoa(*id)
	}
	return "?"
}
