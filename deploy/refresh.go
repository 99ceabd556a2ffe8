package deploy

import (
	"strconv"
	"strings"

	"github.com/unitd/unitd/state"
)

// WhoWaits says which units of an application don't get the charm that it was
// just given, as their hooks have failed; by force they do.
func (d *Deployer) WhoWaits(m *state.Model, name string, force bool) error {
	if force {
		return nil
	}
	units, err := m.Units(d.Context())
	if err != nil {
		return err
	}
	if app, err := m.Application(d.Context(), name); err != nil || app.Sidecar {
		return err // other containers wait for no failed hook
	}
	var waiting []string
	for _, u := range units {
		if u.Name.Application() == name && u.Failed != 0 && u.Resolved.Run != u.Failed {
			waiting = append(waiting, string(u.Name))
		}
	}
	is, waits, they := "is", "waits", "it is"
	if len(waiting) > 1 {
		is, waits, they = "are", "wait", "they are"
	}
	if len(waiting) > 0 {
		d.Note(`%s %s in error, and %s with the new charm until %s resolved; "--force-units" puts it in place before`,
			strings.Join(waiting, ", "), is, waits, they)
	}
	return nil
}

// Revision is the number at the end of a charm's URL.
func Revision(url string) string {
	for i := len(url) - 1; i >= 0; i-- {
		if url[i] == '-' {
			if _, err := strconv.Atoi(url[i+1:]); err == nil {
				return url[i+1:]
			}
		}
	}
	return "0"
}
