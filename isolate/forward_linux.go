package isolate

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// forwarding is what several agents of a host know of a setting that they have in
// common: how it was, and which bridges need it.
type forwarding struct {
	Was   string   `json:"was"`
	Users []string `json:"users"`
}

// forwardDir has what is known of the host's devices; it goes with a boot.
const forwardDir = "/run/unitd"

// forward lets packets pass between the bridge and the devices that lead out of
// the host, those of IPv4 or of IPv6, or no longer. The settings are put back when the
// last bridge has gone.
func forward(device string, on, six bool) error {
	unlock, err := lockHost()
	if err != nil {
		return errors.Trace(err)
	}
	defer unlock()
	path := filepath.Join(forwardDir, "forwarding.json")
	all := map[string]forwarding{}
	if err := readOfBoot(path, &all); err != nil && !os.IsNotExist(errors.Cause(err)) {
		return errors.Trace(err)
	}
	switch {
	case on && six:
		err = forwardFrom6(all, device)
	case on:
		err = forwardFrom4(all, device)
	default:
		err = forwardNoMore(all, device)
	}
	if err != nil {
		return errors.Trace(err)
	}
	if len(all) == 0 {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return errors.Trace(err)
		}
		_ = os.Remove(forwardDir) // unless there is more that agents have in common
		return nil
	}
	if err := os.MkdirAll(forwardDir, 0o755); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(writeOfBoot(path, all))
}

// lockHost keeps the agents of a host from each other, while they look at what
// they have in common. The lock is that of a directory that is there anyway.
func lockHost() (unlock func(), err error) {
	f, err := os.Open(filepath.Dir(forwardDir))
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, errors.Trace(err)
	}
	return func() { f.Close() }, nil
}

// forwardFrom4 has the bridge, and the devices that IPv4's default routes lead to,
// forward.
func forwardFrom4(all map[string]forwarding, device string) error {
	links, err := outward(netlink.FAMILY_V4)
	if err != nil {
		return errors.Trace(err)
	}
	if err := writeSetting(device, "1"); err != nil {
		return errors.Trace(err)
	}
	var changes []setting
	for _, link := range links {
		changes = append(changes, setting{link.Attrs().Name, "1"})
	}
	return errors.Trace(change(all, device, changes))
}

// forwardFrom6 is that for IPv6.
func forwardFrom6(all map[string]forwarding, device string) error {
	links, err := outward(netlink.FAMILY_V6)
	if err != nil {
		return errors.Trace(err)
	}
	devices, advised := []string{}, map[string]bool{}
	for _, link := range links {
		name := link.Attrs().Name
		accepts, err := readSetting(of6(name, "accept_ra"))
		if err != nil {
			return errors.Trace(err)
		}
		_, ours := all[of6(name, "accept_ra")] // as another network of ours needs it
		devices, advised[name] = append(devices, name), accepts == "1" || ours
	}
	each := writeSetting(of6(device, "force_forwarding"), "1")
	if each != nil && !os.IsNotExist(each) {
		return errors.Trace(each)
	}
	on, err := readSetting(of6("all", "forwarding"))
	if err != nil {
		return errors.Trace(err)
	}
	_, ours := all[of6("all", "forwarding")]
	return errors.Trace(change(all, device, settings6(devices, advised, each == nil, on == "1" && !ours)))
}

// setting is a setting of the kernel's: the name of a device is its forwarding of IPv4,
// all others are paths below /proc/sys/net.
type setting struct{ name, value string }

// of6 is the name of an IPv6 setting of a device.
func of6(device, name string) string { return "ipv6/conf/" + device + "/" + name }

// settings6 are those by which devices forward IPv6 packets. From Linux 6.17 on each of
// them can: each. Before that all forward or none, and who forwards takes no advice
// of routers, unless he is told to go on: advised devices have their routes from
// there. on says that all do already. Source: docs/spec/machine-isolation.md §7.
func settings6(devices []string, advised map[string]bool, each, on bool) []setting {
	var changes []setting
	for _, device := range devices {
		switch {
		case each:
			changes = append(changes, setting{of6(device, "force_forwarding"), "1"})
		case advised[device] && !on:
			changes = append(changes, setting{of6(device, "accept_ra"), "2"})
		}
	}
	if !each {
		changes = append(changes, setting{of6("all", "forwarding"), "1"})
	}
	return changes
}

// change changes settings for a bridge, and notes how they were.
func change(all map[string]forwarding, device string, changes []setting) error {
	for _, s := range changes {
		f, there := all[s.name]
		if !there {
			was, err := readSetting(s.name)
			if err != nil {
				return errors.Trace(err)
			}
			f.Was = was
		}
		if !slices.Contains(f.Users, device) {
			f.Users = append(f.Users, device)
		}
		all[s.name] = f
		if err := writeSetting(s.name, s.value); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// forwardNoMore puts the settings back that no other bridge needs: who takes the advice
// of routers last, when nobody forwards any more.
func forwardNoMore(all map[string]forwarding, device string) error {
	last := func(name string) int { return strings.Count(name, "/accept_ra") }
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		f := all[name]
		f.Users = slices.DeleteFunc(f.Users, func(u string) bool { return u == device })
		if len(f.Users) > 0 {
			all[name] = f
			continue
		}
		delete(all, name)
		if err := writeSetting(name, f.Was); err != nil && !os.IsNotExist(err) {
			return errors.Trace(err)
		}
	}
	return nil
}

func settingPath(name string) string {
	if !strings.Contains(name, "/") {
		name = "ipv4/conf/" + name + "/forwarding"
	}
	return "/proc/sys/net/" + name
}

func readSetting(name string) (string, error) {
	b, err := os.ReadFile(settingPath(name))
	return strings.TrimSpace(string(b)), err
}

func writeSetting(name, value string) error {
	return os.WriteFile(settingPath(name), []byte(value), 0o644)
}
