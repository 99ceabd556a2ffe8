package isolate_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// TestHostProgramsOfACellRunAsAPerson, and so do those of the next agent.
func TestHostProgramsOfACellRunAsAPerson(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it needs root to become somebody else")
	}
	w := newWorld(t)
	spec := w.spec("app/0", model.IsolateFiles)
	spec.Accounts = []isolate.Account{
		{Name: "juju", UID: 170, GID: 170, Home: "/home/juju"}, {Name: "sjuju", UID: 171, GID: 171, Home: "/home/sjuju", Sudo: true},
	}
	c := w.openBy(spec)
	want(t, c, "id juju; id -un 171; stat -c %u:%g ~juju; head -n1 /etc/passwd | cut -d: -f1", "uid=170(juju) gid=170(juju) groups=170(juju)\nsjuju\n170:170\nroot")
	want(t, c, "test ! -d /etc/sudoers.d || cat /etc/sudoers.d/sjuju | grep -c 'sjuju ALL=(ALL:ALL) NOPASSWD:ALL' | grep -v 1", "")
	must(t, c.RunAs(isolate.Person{Groups: []int{170}}))
	want(t, c, "id -u; id -g; id -G; mkdir -m 700 /srv/roots; touch /srv/roots/file", "0\n0\n0 170")
	must(t, c.RunAs(isolate.Person{UID: 171, GID: 171, Groups: []int{170, 4}, Home: "/home/sjuju"}))
	want(t, c, "id -u; id -g; id -G; touch /etc/no 2>/dev/null || echo refused", "171\n171\n171 4 170\nrefused")
	c, err := w.cells.Open(t.Context(), key("app/0"), w.spec("app/0", model.IsolateFiles))
	must(t, err)
	want(t, c, "id -u", "171")
	if c.Home() != "/home/sjuju" {
		t.Errorf("at home in %s", c.Home())
	}

	f, err := c.OpenAsPerson("/tmp/made", os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	st, err := f.Stat()
	must(t, err)
	f.Close()
	uid, gid := c.OfProcess(171, 171)
	if own := st.Sys().(*syscall.Stat_t); int(own.Uid) != uid || int(own.Gid) != gid {
		t.Errorf("what is made is %d:%d's", own.Uid, own.Gid)
	}
	for _, path := range []string{"/srv/roots/file", "/etc/no"} {
		if f, err := c.OpenAsPerson(path, os.O_CREATE|os.O_RDWR, 0o600); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: %v, %v", path, f, err)
		}
	}
	f, err = c.OpenFile("/srv/roots/file", os.O_RDWR, 0)
	must(t, err)
	f.Close()

	// Nor by a group of the agent's, but by each of his own.
	must(t, c.RunAs(isolate.Person{}))
	want(t, c, "umask 077; cd /srv; for f in agents own; do echo $f >$f; chmod 640 $f; done; chgrp 4 own", "")
	must(t, c.RunAs(isolate.Person{UID: 171, GID: 171, Groups: []int{170, 4}}))
	if f, err := c.OpenAsPerson("/srv/agents", os.O_RDONLY, 0); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file of a group that is the agent's: %v, %v", f, err)
	}
	f, err = c.OpenAsPerson("/srv/own", os.O_RDONLY, 0)
	must(t, err)
	f.Close()

	must(t, c.RunAs(isolate.Person{}))
	want(t, c, "id -u; id -G", "0\n0")
}
