package machine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/storage"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/workload"
)

// podGroup is the group by which the containers of a unit share files where not all
// of them run as root. Source: docs/spec/containers.md §5.3.
const podGroup = 170

// podAccounts are the users that a charm container has for charms that aren't root.
// Source: docs/spec/containers.md §5.3.
func podAccounts() []isolate.Account {
	return []isolate.Account{
		{Name: "juju", UID: 170, GID: podGroup, Home: "/home/juju"},
		{Name: "sjuju", UID: 171, GID: 171, Home: "/home/sjuju", Sudo: true},
	}
}

// hasUsers says whether the containers of a charm's unit aren't all root's, as a
// matter of course. Source: docs/spec/containers.md §5.3.
func hasUsers(charm model.Charm) bool {
	has := charm.CharmUser != ""
	for _, c := range charm.Containers {
		has = has || c.UID != nil || c.GID != nil
	}
	return has
}

// charmPerson is whom a container unit's hooks run as. Source:
// docs/spec/containers.md §5.3.
func charmPerson(charm model.Charm) isolate.Person {
	var p isolate.Person
	if hasUsers(charm) {
		p.Groups = []int{podGroup}
	}
	for i, name := range []string{model.CharmUserNonRoot, model.CharmUserSudoer} {
		if charm.CharmUser == name {
			a := podAccounts()[i]
			p.UID, p.GID, p.Home = a.UID, a.GID, a.Home
		}
	}
	return p
}

// userOf is whom a container's processes run as.
func userOf(charm model.Charm, spec model.ContainerSpec) workload.User {
	user := workload.User{UID: spec.UID, GID: spec.GID, Image: hasUsers(charm)}
	if user.Image {
		user.Groups = []int{podGroup}
	}
	return user
}

// OtherUsers says in a few words by what a charm wants other users than root, which
// only root can give; empty: by nothing that its metadata says.
func OtherUsers(charm model.Charm) string {
	if charmPerson(charm).UID != 0 {
		return "charm-user is " + charm.CharmUser
	}
	for _, name := range charm.ContainerNames() {
		c := charm.Containers[name]
		for i, id := range []*int{c.UID, c.GID} {
			if id != nil && *id != 0 {
				return fmt.Sprintf("container %s has %s %d", name, []string{"uid", "gid"}[i], *id)
			}
		}
	}
	return ""
}

// seeUsers has a container unit live as the users that its charm wants: that which it
// has, or is to have.
func (u *unit) seeUsers(ctx context.Context, s *state.Snapshot, l resolver.Local) error {
	has, _ := s.Pod.Had()
	return u.liveAs(ctx, cmp.Or(l.Charm, has.Charm, s.Application.Charm))
}

// liveAs has the hooks of a container unit run as the charm with that URL wants, and
// what they need belong to that user.
func (u *unit) liveAs(ctx context.Context, url string) error {
	c := u.cell.Load()
	if u.inPod == nil || c == nil || u.inPod.livesAs == url {
		return nil
	}
	doc, err := u.model.Charm(ctx, url)
	if err != nil {
		return errors.Trace(err)
	}
	p := charmPerson(doc.Charm)
	if err := c.RunAs(p); err != nil {
		return errors.Annotatef(err, "cannot run hooks of %s, which has charm-user %s", u.name, doc.Charm.CharmUser)
	}
	uid, gid := ownerOnHost(c)
	if err := u.server.ServeUser(uid); err != nil {
		return errors.Trace(err)
	}
	u.charm.Give(uid, gid)
	if err := u.writeIdentities(p); err != nil {
		return errors.Trace(err)
	}
	u.inPod.livesAs, u.inPod.shares = url, len(c.Person().Groups) > 0
	return nil
}

// ownerOnHost is whom the hooks of a cell run as, by the host's numbers.
func ownerOnHost(c *cell) (uid, gid int) {
	p := c.Person()
	if uid, gid = c.OnHost(p.UID, p.GID); p.UID == 0 {
		uid = os.Geteuid()
	}
	if p.GID == 0 {
		gid = os.Getegid()
	}
	return uid, gid
}

// podGroup is the group of that number, by the host's.
func (c *cell) podGroup() int {
	_, gid := c.OnHost(0, podGroup)
	return gid
}

// give has a file that the agent makes for the charm belong to whom its hooks run
// as.
func (u *unit) give(f *durable.File) error {
	c := u.cell.Load()
	if c == nil || c.Person().UID == 0 {
		return nil
	}
	uid, gid := ownerOnHost(c)
	if os.Geteuid() == 0 {
		return errors.Trace(f.Chown(uid, gid))
	}
	return errors.Trace(u.disk.Lchown(f.Name(), uid, gid)) // which may have to be done by another process
}

// identitiesPath is the file by which Pebbles know the charm that isn't root; empty:
// it is.
func (u *unit) identitiesPath() string {
	if c := u.cell.Load(); c == nil || c.Person().UID == 0 {
		return ""
	}
	return filepath.Join(u.dir, "identities.yaml")
}

// writeIdentities has the file there, in which the charm has admin's access. Source:
// docs/spec/containers.md §4.5.
func (u *unit) writeIdentities(p isolate.Person) error {
	path := u.identitiesPath()
	if path == "" {
		return nil
	}
	const text = "identities:\n    charm:\n        access: admin\n        local:\n            user-id: %d\n"
	if err := u.disk.ReplaceFile(path, fmt.Appendf(nil, text, p.UID), 0o644); err != nil {
		return errors.Trace(err)
	}
	return u.letAllRead(path)
}

// letAllRead has what the agent has made in the unit's directory readable for whoever
// runs in the unit, of whatever user: a umask of 077 would keep it from them.
func (u *unit) letAllRead(path string) error {
	is, err := os.Stat(path)
	if err != nil {
		return errors.Trace(err)
	}
	mode := is.Mode().Perm() | 0o044
	if is.IsDir() {
		mode |= 0o011
	}
	if mode == is.Mode().Perm() {
		return nil
	}
	return errors.Trace(u.disk.Chmod(path, mode))
}

// accountsOf are the accounts in the machine of an application's units.
func accountsOf(app state.ApplicationDoc) []isolate.Account {
	if !app.Sidecar {
		return nil
	}
	return podAccounts()
}

// furnishPod has what the unit's containers share there, before they are.
func (u *unit) furnishPod(c *cell, s *state.Snapshot) error {
	for _, v := range s.Storage {
		if !u.inPod.shares || v.Attachment.Location == "" || v.Kind != model.Filesystem || v.ReadOnly {
			continue
		}
		if there, err := os.ReadDir(u.containersDir()); err == nil && len(there) > 0 {
			break // these containers have had it: what they have closed since stays so
		}
		if err := storage.Share(u.disk, storage.FileSystem(StorageDir(u.dataDir, u.model.UUID()), v.ID), c.podGroup(), true); err != nil {
			return errors.Trace(err)
		}
	}
	if err := u.makeContainersDir(c); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(u.enterNames(c))
}

// makeContainersDir has the directory there of which the charm sees the containers'
// ones.
func (u *unit) makeContainersDir(c *cell) error {
	const mode = 0o755
	dir := u.containersDir()
	if err := u.disk.MkdirAll(dir, mode); err != nil || !u.inPod.shares {
		return errors.Trace(err)
	}
	uid, gid := c.OnHost(c.Person().UID, podGroup)
	if err := u.disk.Lchown(dir, uid, gid); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(u.disk.Chmod(dir, mode|0o020|os.ModeSetgid))
}
