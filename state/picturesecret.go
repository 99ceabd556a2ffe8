package state

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// secrets adds the secrets that units and applications own. Those of people are
// changed by no hook.
func (p *picture) secrets() error {
	all, err := list[model.SecretInfo](p.docs, "secret/")
	if err != nil {
		return errors.Trace(err)
	}
	for _, s := range all {
		if s.Owner.Kind != model.OwnedByModel {
			p.add(model.FactSecret, s.Owner.Name, cmp.Or(s.Label, string(s.ID)), secretText(s))
		}
	}
	return nil
}

// secretText is a secret in a line, without its content:
// "revision 2, rotated daily, granted to shop".
func secretText(s model.SecretInfo) string {
	var kept []string
	for _, r := range s.Revisions {
		text := fmt.Sprint(r.Revision)
		if !r.Expires.IsZero() {
			text += " (expires " + r.Expires.UTC().Format(time.RFC3339) + ")"
		}
		kept = append(kept, text)
	}
	parts := []string{"revision " + strings.Join(kept, " ")}
	if s.Description != "" {
		parts = append(parts, fmt.Sprintf("%q", s.Description))
	}
	if s.Rotate != "" && s.Rotate != model.RotateNever {
		parts = append(parts, "rotated "+string(s.Rotate))
	}
	for _, g := range s.Grants {
		parts = append(parts, "granted to "+g.Target)
	}
	return strings.Join(parts, ", ")
}
