package script

import (
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// stubSecretCommands have stubs own secrets.
func stubSecretCommands() []Cmd {
	return []Cmd{
		{Name: "stub-secret-add", Args: "[--rotate POLICY] [--expire DURATION] APPLICATION|UNIT LABEL KEY=VALUE…", Summary: "have a stub, or a unit of it, add a secret, and print its URI", run: (*call).stubSecretAdd},
		{Name: "stub-secret-update", Args: "[--rotate POLICY] [--expire DURATION] APPLICATION|UNIT LABEL KEY=VALUE…", Summary: "give a stub's secret new content", run: (*call).stubSecretUpdate},
		{Name: "stub-secret-grant", Args: "APPLICATION|UNIT LABEL TO", Summary: "let an application, or a unit, read a stub's secret for as long as they are related", run: (*call).stubSecretGrant},
		{Name: "stub-secret-revoke", Args: "APPLICATION|UNIT LABEL FROM", Summary: "take that back", run: (*call).stubSecretRevoke},
		{Name: "stub-secret-remove", Args: "APPLICATION|UNIT LABEL [REVISION]", Summary: "remove a stub's secret, or one of its revisions", run: (*call).stubSecretRemove},
	}
}

// keeperOf is who owns secrets of a stub, and the unit that changes them for it.
type keeperOf struct {
	m     *state.Model
	owner model.SecretOwner
	unit  model.UnitName
}

// keeper is what an argument names, an application or a unit of a stub.
func (c *call) keeper(name string) (k keeperOf, err error) {
	application := name
	k.owner = model.SecretOwner{Kind: model.OwnedByApplication, Name: name}
	if strings.Contains(name, "/") {
		k.unit, err = model.ParseUnitName(name)
		if err != nil {
			return k, c.usagef("%v", err)
		}
		application, k.owner.Kind = k.unit.Application(), model.OwnedByUnit
	}
	if k.m, _, err = c.stubOf(application); err != nil {
		return k, err
	}
	if k.unit == "" {
		k.unit, err = c.speaker(k.m, application)
	} else if _, err = k.m.Unit(c.ctx, k.unit); err != nil {
		err = misuse{err}
	}
	return k, err
}

// secret is what the first two arguments name.
func (c *call) secret() (keeperOf, model.SecretInfo, error) {
	k, err := c.keeper(c.args[0])
	if err != nil {
		return k, model.SecretInfo{}, err
	}
	all, err := k.m.OwnedSecrets(c.ctx, k.unit)
	if err != nil {
		return k, model.SecretInfo{}, err
	}
	var labels []string
	for _, s := range all {
		if s.Owner != k.owner {
			continue
		}
		if s.Label == c.args[1] {
			return k, s, nil
		}
		labels = append(labels, s.Label)
	}
	has := "it has none"
	if len(labels) > 0 {
		has = "it has " + strings.Join(labels, ", ")
	}
	return k, model.SecretInfo{}, misuse{fmt.Errorf("%s has no secret with the label %q; %s", c.args[0], c.args[1], has)}
}

func (c *call) changeStubSecret(k keeperOf, change model.SecretChange) error {
	return k.m.ApplyAsLeader(c.ctx, k.unit, model.Changes{Secrets: []model.SecretChange{change}})
}

// secretFlags takes the flags from the arguments, and makes a change of them and of the
// content that follows the owner and the label.
func (c *call) secretFlags() (change model.SecretChange, err error) {
	flags := flag.NewFlagSet(c.cmd.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	rotate, expire := flags.String("rotate", "", ""), flags.Duration("expire", 0, "")
	if err := flags.Parse(c.args); err != nil || flags.NArg() < 3 {
		return change, c.usagef("expected an owner, a label and KEY=VALUE")
	}
	c.args = flags.Args()
	if *rotate != "" {
		policy, err := model.ParseRotatePolicy(*rotate)
		if err != nil {
			return change, c.usagef("%v", err)
		}
		change.Rotate = &policy
	}
	if *expire != 0 {
		if *expire < time.Second {
			return change, c.usagef("%s is no time after which something can expire", *expire)
		}
		at := c.clock.Now().Add(*expire)
		change.Expires = &at
	}
	values, err := c.settings(c.args[2:])
	if err != nil {
		return change, err
	}
	change.Content = model.SecretContent{}
	for key, value := range values {
		change.Content[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	if err := change.Content.Check(); err != nil {
		return change, c.usagef("%v", err)
	}
	return change, nil
}

func (c *call) stubSecretAdd() error {
	change, err := c.secretFlags()
	if err != nil {
		return err
	}
	k, err := c.keeper(c.args[0])
	if err != nil {
		return err
	}
	if change.ID, err = state.NewSecretID(); err != nil {
		return err
	}
	change.Make, change.Label = &k.owner, &c.args[1]
	if err := c.changeStubSecret(k, change); err != nil {
		return err
	}
	c.printf("%s\n", change.ID.LongURI(k.m.UUID()))
	return nil
}

func (c *call) stubSecretUpdate() error {
	change, err := c.secretFlags()
	if err != nil {
		return err
	}
	k, s, err := c.secret()
	if err != nil {
		return err
	}
	change.ID = s.ID
	return c.changeStubSecret(k, change)
}

func (c *call) stubSecretGrant() error {
	if len(c.args) != 3 {
		return c.usagef("expected an owner, a label, and who may read it")
	}
	k, s, err := c.secret()
	if err != nil {
		return err
	}
	to := c.args[2]
	application, _, _ := strings.Cut(to, "/")
	detail, err := k.m.ShowUnit(c.ctx, k.unit)
	if err != nil {
		return err
	}
	change := model.SecretChange{ID: s.ID}
	for _, r := range detail.Relations {
		if r.Other.Application == application {
			change.Grant = append(change.Grant, model.SecretGrant{Target: to, Relation: r.ID})
		}
	}
	if len(change.Grant) == 0 {
		return errors.Errorf("%s is in no relation with %s, by which it could grant a secret: integrate them", k.unit.Application(), application)
	}
	return c.changeStubSecret(k, change)
}

func (c *call) stubSecretRevoke() error {
	if len(c.args) != 3 {
		return c.usagef("expected an owner, a label, and who may read it no longer")
	}
	k, s, err := c.secret()
	if err != nil {
		return err
	}
	from := c.args[2]
	change := model.SecretChange{ID: s.ID}
	for _, g := range s.Grants {
		if application, _, _ := strings.Cut(g.Target, "/"); g.Target == from || application == from {
			change.Revoke = append(change.Revoke, g)
		}
	}
	if len(change.Revoke) == 0 {
		return errors.Errorf("%s wasn't granted the secret", from)
	}
	return c.changeStubSecret(k, change)
}

func (c *call) stubSecretRemove() error {
	if len(c.args) != 2 && len(c.args) != 3 {
		return c.usagef("expected an owner and a label, and perhaps a revision")
	}
	k, s, err := c.secret()
	if err != nil {
		return err
	}
	change := model.SecretChange{ID: s.ID, RemoveAll: len(c.args) == 2}
	if !change.RemoveAll {
		n, err := strconv.Atoi(c.args[2])
		if err != nil {
			return c.usagef("%q is not the number of a revision", c.args[2])
		}
		if !slices.ContainsFunc(s.Revisions, func(r model.SecretRevision) bool { return r.Revision == n }) {
			return errors.Errorf("the secret has no revision %d", n)
		}
		change.Remove = []int{n}
	}
	return c.changeStubSecret(k, change)
}
