package machine

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Host is what an agent tells the model, and hooks, of the host that it runs on.
type Host struct {
	Hostname string
	// Addresses are those by which the units on this host are reached, the
	// preferred one first.
	Addresses []string
	// Network is what network-get tells.
	Network hookcontext.Network
	// Boot names the time since the host was last booted; empty where the
	// system has no name for it.
	Boot string
	// Path is the PATH that hooks get after the hook tools.
	Path           string
	Debian, Ubuntu bool
	// Base is the host's operating system: "ubuntu" and "24.04".
	BaseName, BaseChannel string
	// System is what systemd says of an isolated unit's machine; nil: nothing.
	System *model.System
	// Arch is the host's architecture as constraints name it; empty: whichever units
	// ask for.
	Arch string
}

// machine is what the model is told of the machine with that id.
func (h Host) machine(id string) state.MachineDoc {
	return state.MachineDoc{ID: id, Hostname: h.Hostname, Addresses: h.Addresses, BaseName: h.BaseName, BaseChannel: h.BaseChannel, System: h.System}
}

// LocalHost describes this host. All units of a local model are on it, so the
// address that each can reach the others by, with or without a network, is the
// loopback one; it stays the same wherever a laptop is carried.
func LocalHost() Host {
	h := Host{
		Arch:      model.ArchitectureOf(runtime.GOARCH),
		Addresses: []string{"127.0.0.1"},
		Network: hookcontext.Network{
			Interfaces: []hookcontext.Interface{{
				Name:      "lo",
				MAC:       "00:00:00:00:00:00", // as systems say it of this one
				Addresses: []hookcontext.Address{{Value: "127.0.0.1", CIDR: "127.0.0.0/8"}},
			}},
			Ingress: []string{"127.0.0.1"},
			Egress:  []string{"127.0.0.1/32"},
		},
		Path: os.Getenv("PATH"),
	}
	if h.Path == "" {
		h.Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	h.Hostname, _ = os.Hostname() // without a name it stays empty
	h.readOSRelease("/etc/os-release")
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil { // on Linux
		h.Boot = strings.TrimSpace(string(b))
	}
	return h
}

// At is the host with one address, by which its units reach each other. The device
// that has it may not be this host's, so its hardware address is made up.
func (h Host) At(address string) Host {
	bits := "/32"
	if strings.Contains(address, ":") {
		bits = "/128"
	}
	h.Addresses = []string{address}
	h.Network = hookcontext.Network{
		Interfaces: []hookcontext.Interface{{
			Name: "eth0", MAC: isolate.MAC(address), Addresses: []hookcontext.Address{{Value: address, CIDR: address + bits}},
		}},
		Ingress: []string{address},
		Egress:  []string{address + bits},
	}
	return h
}

func (h *Host) readOSRelease(path string) {
	f, err := os.Open(path)
	if err != nil {
		return // not on macOS, for one
	}
	defer f.Close()
	values := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if k, v, ok := strings.Cut(lines.Text(), "="); ok {
			values[k] = strings.Trim(v, `"'`)
		}
	}
	family := " " + values["ID"] + " " + values["ID_LIKE"] + " "
	h.Ubuntu = values["ID"] == "ubuntu"
	h.Debian = strings.Contains(family, " debian ") || strings.Contains(family, " ubuntu ")
	h.BaseName, h.BaseChannel = values["ID"], values["VERSION_ID"]
}
