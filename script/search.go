package script

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// searched bounds the files that are searched, in bytes.
const searched = 8 << 20

func (c *call) search() error {
	secrets := len(c.args) > 0 && c.args[0] == "--secrets"
	switch {
	case secrets && len(c.args) != 2:
		return c.usagef("expected an application")
	case !secrets && (len(c.args) != 1 || c.args[0] == ""):
		return c.usagef("expected a text")
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	wanted := []sought{{text: c.args[len(c.args)-1]}}
	if secrets {
		if wanted, err = c.ofSecrets(m, c.args[1]); err != nil {
			return err
		}
	}
	found := places{}
	if err := c.searchModel(m, wanted, found); err != nil {
		return err
	}
	if err := c.searchFiles(m, wanted, found); err != nil {
		return err
	}
	c.printf("") // nothing found is nothing, not what the last command has
	for _, line := range slices.Sorted(maps.Keys(found)) {
		c.printf("%s\n", line)
	}
	return nil
}

// sought is a text that is looked for; what it is comes before each place where it is found.
type sought struct{ what, text string }

// places are where texts were found, as lines.
type places map[string]bool

// note notes a place, and which of the texts are in what is there.
func (p places) note(wanted []sought, content, format string, args ...any) {
	for _, w := range wanted {
		if strings.Contains(content, w.text) {
			p[w.what+fmt.Sprintf(format, args...)] = true
		}
	}
}

// shortest is how long a value of a secret is at least that is searched for, in bytes: a shorter one
// is found by chance.
const shortest = 6

// ofSecrets are all values of all revisions of the secrets that an application or its units own.
func (c *call) ofSecrets(m *state.Model, application string) (wanted []sought, err error) {
	if _, err := m.Application(c.ctx, application); err != nil {
		return nil, err
	}
	secrets, err := m.Secrets(c.ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range secrets {
		if s.Owner.Kind == model.OwnedByModel || applicationOf(s.Owner.Name) != application {
			continue
		}
		for _, r := range s.Revisions {
			content, err := m.SecretContent(c.ctx, s.ID, r.Revision)
			if err != nil {
				return nil, err
			}
			for key, coded := range content {
				value, err := base64.StdEncoding.DecodeString(coded)
				if err == nil && len(value) >= shortest { // a charm may give base64 that is none
					wanted = append(wanted, sought{fmt.Sprintf("%s %s: ", cmp.Or(s.Label, "-"), key), string(value)})
				}
			}
		}
	}
	return wanted, nil
}

// searchFiles looks for texts in the files that isolated units have changed on their machines.
func (c *call) searchFiles(m *state.Model, wanted []sought, found places) error {
	units, err := m.Units(c.ctx)
	if err != nil {
		return err
	}
	for _, u := range units {
		all, err := c.changedFiles(m, u.Name)
		if err != nil {
			return err
		}
		for _, f := range all {
			if !f.info.Mode().IsRegular() || f.info.Size() > searched {
				continue
			}
			b, err := f.read()
			if err != nil {
				return errors.Trace(err)
			}
			what := "file"
			if strings.HasPrefix(f.path, "/var/log/") {
				what = "log"
			}
			found.note(wanted, string(b), "%s %s %s", u.Name, what, f.path)
		}
	}
	return nil
}

// searchModel looks for texts in what the charms' applications have written into the model,
// and in what they have logged.
func (c *call) searchModel(m *state.Model, wanted []sought, found places) error {
	charmed, err := c.charmed(m)
	if err != nil {
		return err
	}
	p, err := m.Picture(c.ctx)
	if err != nil {
		return err
	}
	for _, f := range p {
		if !charmed[applicationOf(f.Of)] {
			continue
		}
		switch {
		case f.Kind == model.FactBag:
			found.note(wanted, f.Value, "%s databag %s %s", f.Of, f.Endpoint, f.Key)
		case f.Kind == model.FactLeaderSettings:
			found.note(wanted, f.Value, "%s leader-settings %s", f.Of, f.Key)
		case f.Kind == model.FactState:
			found.note(wanted, f.Value, "%s state %s", f.Of, f.Key)
		case f.Key == "status":
			found.note(wanted, f.Value, "%s status", f.Of)
		}
	}
	return debuglog.ReadAll(machine.LogPath(c.dir, m.UUID()), func(e debuglog.Entry) error {
		name, ok := strings.CutPrefix(e.Entity, "unit-")
		if i := strings.LastIndex(name, "-"); ok && i > 0 && charmed[name[:i]] {
			found.note(wanted, e.Message, "%s/%s log", name[:i], name[i+1:])
		}
		return nil
	})
}
