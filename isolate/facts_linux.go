package isolate

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/hooks/runner"
)

// Facts are those of this host, as this user finds them.
func (c *Cells) Facts() []Fact {
	facts := []Fact{userFact(), kernelFact(), cgroupFact()}
	if os.Geteuid() == 0 {
		return append(facts, watchFact(), programFact("debootstrap", "fetches bases for machines with systemd"))
	}
	return append(facts, spacesFact(), c.idsFact())
}

func userFact() Fact {
	if os.Geteuid() == 0 {
		return Fact{Name: "user", Value: "root"}
	}
	return Fact{Name: "user", Value: "not root", Do: "networks and machines with systemd need an agent that is root: sudo unitd doctor says what root could have"}
}

// The releases of Linux from which on there is what machines can have.
const (
	forUsers   = "5.11" // for who isn't root
	forMapping = "5.19" // users of their own
)

func kernelFact() Fact {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return Fact{Name: "kernel", Value: "unknown"}
	}
	f := Fact{Name: "kernel", Value: "Linux " + unix.ByteSliceToString(u.Release[:])}
	least, what := forMapping, "users of their own for machines"
	if os.Geteuid() != 0 {
		least, what = forUsers, "machines for who isn't root"
	}
	if older(unix.ByteSliceToString(u.Release[:]), least) {
		f.Do = fmt.Sprintf("Linux %s has %s", least, what)
	}
	return f
}

// older says whether a release, as "6.1.0-13-amd64", comes before another one, as "5.11".
func older(release, than string) bool {
	var a, b [2]int
	for text, to := range map[string]*[2]int{release: &a, than: &b} {
		if _, err := fmt.Sscanf(text, "%d.%d", &to[0], &to[1]); err != nil {
			return false
		}
	}
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

func cgroupFact() Fact {
	f := Fact{Name: "cgroup of version 2"}
	dir, ok := runner.OwnCgroup()
	switch {
	case !ok:
		f.Value, f.Do = "none", "limits, and machines with systemd, need one: mount -t cgroup2 none /sys/fs/cgroup/unified, or boot with systemd.unified_cgroup_hierarchy=1"
	case unix.Access(dir, unix.W_OK) != nil:
		f.Value, f.Do = dir+", which this user can't divide", "systemd-run --user --scope -p Delegate=yes unitd agent"
	default:
		f.Value = dir
	}
	return f
}

func watchFact() Fact {
	f := Fact{Name: "inotify instances"}
	b, err := os.ReadFile(watchLimit)
	most, bad := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || bad != nil {
		f.Value = "no limit"
		return f
	}
	used := watchesUsed()
	f.Value = fmt.Sprintf("%d of %d in use, room for %d machines with systemd", used, most, max(most-used, 0)/watchesEach)
	if most < 1024 {
		f.Do = "sysctl fs.inotify.max_user_instances=1024"
	}
	return f
}

func programFact(name, does string) Fact {
	path, err := exec.LookPath(name)
	if err != nil {
		return Fact{Name: name, Value: "none", Do: fmt.Sprintf("%s: apt-get install %s", does, name)}
	}
	return Fact{Name: name, Value: path}
}

// spacesFact is whether this user may make user name spaces; the settings are those of the
// kernel, of Debian's and of Ubuntu's.
func spacesFact() Fact {
	f := Fact{Name: "user name spaces", Value: "allowed"}
	for _, s := range []struct{ name, refuses, allows string }{
		{"user.max_user_namespaces", "0", "15000"},
		{"kernel.unprivileged_userns_clone", "0", "1"},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
	} {
		b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(s.name, ".", "/"))
		if err == nil && strings.TrimSpace(string(b)) == s.refuses {
			return Fact{Name: f.Name, Value: s.name + " is " + s.refuses, Do: "sudo sysctl " + s.name + "=" + s.allows}
		}
	}
	return f
}

func (c *Cells) idsFact() Fact {
	ids, why := c.IDs()
	if why != nil {
		return Fact{Name: "subordinate ids", Value: "none: " + why.Error(), Do: "see docs/isolation.md, \"Subordinate ids\""}
	}
	return Fact{Name: "subordinate ids", Value: fmt.Sprintf("%d ranges", len(ids.UIDs))}
}
