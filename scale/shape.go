package scale

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Shape is how large a model is. Its applications come in services of four: a
// web application, which has most of the units, and a database, a queue and a
// monitor of three units each. In a service each is related to the three others;
// the last three have a peer relation. So a web unit has nine other units to
// hear of, and a database unit has all of the service's.
type Shape struct {
	Units, Machines, Applications int
	// Awake is how many of the services have agents; 0: all. The others are there
	// as documents, deployed and in scope, as units are whose agents are elsewhere.
	Awake int
	// Executing: the agent says when a hook begins, however long that takes. Else it
	// does as where hooks are over before it would say so.
	Executing bool
	// Boot is the time within which the machines come up; 0: a minute.
	Boot time.Duration
	// Seed is where chance begins.
	Seed uint64
}

const (
	// service is how many applications a service has, small how many units each
	// of them has but for the web application.
	service = 4
	small   = 3
)

// Validate is errors.NotValid where a Shape can't be.
func (s Shape) Validate() error {
	switch {
	case s.Applications < service || s.Applications%service != 0:
		return errors.NewNotValid(nil, fmt.Sprintf("%d applications: they come in services of %d", s.Applications, service))
	case s.Units/s.services() <= small*(service-1) || s.Units%s.services() != 0:
		return errors.NewNotValid(nil, fmt.Sprintf("%d units for %d services: each has as many, and more than %d", s.Units, s.services(), small*(service-1)))
	case s.Machines < 1 || s.Machines > s.Units:
		return errors.NewNotValid(nil, fmt.Sprintf("%d machines for %d units", s.Machines, s.Units))
	case s.Awake < 0 || s.Awake > s.services():
		return errors.NewNotValid(nil, fmt.Sprintf("%d of %d services awake", s.Awake, s.services()))
	}
	return nil
}

func (s Shape) services() int { return s.Applications / service }

// kind is what a service's application is called, by its place in the service.
var kinds = [service]string{"web", "database", "queue", "monitor"}

// charms of the kinds, as words: endpoint=role:interface.
var charms = [service]string{
	"sql=requirer:sql amqp=requirer:amqp metrics=provider:metrics-web",
	"sql=provider:sql backing=provider:backing metrics=provider:metrics-sql cluster=peer:cluster",
	"amqp=provider:amqp backing=requirer:backing metrics=provider:metrics-amqp cluster=peer:cluster",
	"web=requirer:metrics-web sql=requirer:metrics-sql amqp=requirer:metrics-amqp cluster=peer:cluster",
}

// related are the kinds that are related to each other.
var related = [][2]int{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}

func application(kind, service int) string {
	return fmt.Sprintf("%s-%s", kinds[kind], letters(service))
}

// letters is a number in letters: an application's name doesn't end in digits.
func letters(n int) string {
	out := ""
	for ; n >= 0; n = n/26 - 1 {
		out = string(rune('a'+n%26)) + out
	}
	return out
}

// charm is a charm of a kind, with a few settings.
func charm(kind int) model.Charm {
	c := model.Charm{Name: kinds[kind], Endpoints: map[string]model.CharmRel{}, Options: map[string]model.ConfigOption{
		"log-level": {Type: "string", Default: "info"}, "workers": {Type: "int", Default: 4}, "tls": {Type: "boolean", Default: true},
	}}
	for _, word := range strings.Fields(charms[kind]) {
		name, rest, _ := strings.Cut(word, "=")
		role, iface, _ := strings.Cut(rest, ":")
		c.Endpoints[name] = model.CharmRel{Role: model.Role(role), Interface: iface, Scope: model.Global}
	}
	return c
}

// addCharms stores the charms and returns their URLs by kind.
func addCharms(ctx context.Context, m *state.Model) (urls [service]string, err error) {
	for kind := range kinds {
		sum := sha256.Sum256([]byte(kinds[kind]))
		urls[kind], err = m.AddCharm(ctx, charm(kind), hex.EncodeToString(sum[:]), strings.NewReader(kinds[kind]))
		if err != nil {
			return urls, errors.Trace(err)
		}
	}
	return urls, nil
}

// deploy makes the applications of a service, with their units and relations.
func (s Shape) deploy(ctx context.Context, m *state.Model, urls [service]string, number int) error {
	for kind := range kinds {
		units := small
		if kind == 0 {
			units = s.Units/s.services() - small*(service-1)
		}
		err := m.Deploy(ctx, state.DeployArgs{Application: application(kind, number), Charm: urls[kind], Units: units})
		if err != nil {
			return errors.Trace(err)
		}
	}
	for _, pair := range related {
		if _, err := m.AddRelation(ctx, application(pair[0], number), application(pair[1], number)); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
