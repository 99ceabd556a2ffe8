package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// insideVariable tells a test that it has a network of its own.
const insideVariable = "UNITD_TEST_INSIDE"

// meetingCharm has a server in each unit, and connects with that of each other unit by its
// address and by its name, as soon as it hears of it.
const meetingCharm = `#!/bin/bash
case "$JUJU_HOOK_NAME" in
install)
	setsid python3 -c '
import socket
s = socket.socket(); s.bind(("0.0.0.0", 8123)); s.listen()
open("listens", "w").close()
while True:
	c, who = s.accept()
	c.sendall((who[0] + "\n").encode())
	c.close()
' </dev/null >/dev/null 2>&1 &
	while [ ! -e listens ]; do kill -0 $! || exit 1; done;;
ring-relation-changed)
	mine=$(unit-get private-address)
	for to in "$(relation-get ingress-address "$JUJU_REMOTE_UNIT")" "${JUJU_REMOTE_UNIT/\//-}"; do
		read -r seen <"/dev/tcp/$to/8123" || exit 1
		[ "$seen" = "$mine" ] || { echo "$to has seen $seen, not $mine" >&2; exit 1; }
	done
	juju-log "reaches $JUJU_REMOTE_UNIT"
	status-set active "$(relation-list | wc -l)";;
esac
`

// hosts are three, each in a network of its own, and an etcd that they reach.
type hosts struct {
	*testing.T
	dir, program, store string
	agents              [3]*exec.Cmd
}

// TestHostIsolatedUnitsOfThreeHostsReachEachOther: by their addresses and names, from the first
// hook on; and from each host people come to the units of all.
func TestHostIsolatedUnitsOfThreeHostsReachEachOther(t *testing.T) {
	if why := noHosts(); why != "" {
		t.Skip(why)
	}
	if os.Getenv(insideVariable) == "" {
		t.Parallel()
		runInsideHosts(t)
		return
	}
	h := beginHosts(t)
	h.on(0, "deploy", filepath.Join(h.dir, "charm"), "app", "-n", "3", "--isolate=on", "--to", "new,0,1")
	h.on(0, "wait", "--timeout", "5m")
	if got := h.on(0, "status"); strings.Count(got, "active") != 4 || !regexp.MustCompile(`(?m)^app/2\*? +active +idle .* 2$`).MatchString(got) {
		t.Fatalf("they don't all reach the others: %s\n%s", got, h.on(0, "debug-log", "--replay"))
	}
	h.peopleComeToAll()
	h.isMended()
	h.isForgotten()
}

// peopleComeToAll has each unit be looked at, and debugged, from each host.
func (h *hosts) peopleComeToAll() {
	for from := range 3 {
		log := h.on(from, "debug-log", "--replay", "--include-module", "unit")
		for unit := range 3 {
			name := fmt.Sprintf("app/%d", unit)
			if !strings.Contains(h.on(from, "history", name), " install ") {
				h.Errorf("host %d doesn't see the history of %s", from, name)
			}
			if got := h.on(from, "exec", "-u", name, "--", "hostname"); !strings.Contains(got, fmt.Sprintf("app-%d", unit)) {
				h.Errorf("host %d runs hostname in %s: %q", from, name, got)
			}
			if got := h.on(from, "ssh", name, "--", "hostname"); strings.TrimSpace(got) != fmt.Sprintf("app-%d", unit) {
				h.Errorf("host %d opens a shell in %s: %q", from, name, got)
			}
			if !strings.Contains(log, "unit-"+strings.Replace(name, "/", "-", 1)+":") {
				h.Errorf("host %d doesn't see the log of %s: %s", from, name, log)
			}
		}
		for unit := range 3 {
			h.debugs(from, unit)
		}
	}
}

// debugs has a hook of a unit debugged from a host, while its log is followed there.
func (h *hosts) debugs(from, unit int) {
	name, word := fmt.Sprintf("app/%d", unit), fmt.Sprintf("unit %d is debugged from host %d", unit, from)
	follow := h.command(from, "debug-log", "--tail", "-n", "1", "--include-module", "unit")
	lines := h.begins(follow)
	lines.until("\n") // from its first line on it misses none
	debug := h.command(from, "debug-hooks", name, "config-changed", "--once")
	debug.Stdin = strings.NewReader("juju-log '" + word + "'\n")
	said := h.begins(debug)
	said.until("Waiting for config-changed")
	h.on(from, "config", "app", "motto="+word)
	if err := debug.Wait(); err != nil {
		h.Errorf("debugging %s from host %d: %v: %s", name, from, err, said.text())
	}
	if !lines.has(word) {
		_ = follow.Process.Signal(syscall.SIGQUIT) // it tells what it waits for
		err := follow.Wait()
		h.Fatalf("host %d, which follows all logs, doesn't see %q: %v: %s\nThe session has said: %s\nIts logs have: %s", from, word, err, lines.text(), said.text(), h.on(from, "debug-log", "--no-tail", "--replay", "--include-module", "unit"))
	}
	_ = follow.Process.Signal(os.Interrupt)
	_ = follow.Wait()
	h.on(0, "wait", "--timeout", "5m")
}

// isMended: a tunnel whose process was killed is there again, and leads where it did.
func (h *hosts) isMended() {
	out, err := exec.Command("pgrep", "-f", "^[^ ]*unitd unitd-tunnel").Output()
	if err != nil {
		return // the kernel has them
	}
	for _, pid := range strings.Fields(string(out)) {
		_ = exec.Command("kill", "-KILL", pid).Run() // other tests' aren't seen here
	}
	address := strings.TrimSpace(h.on(1, "exec", "-u", "app/2", "--", "unit-get", "private-address"))
	for end := time.Now().Add(5 * time.Minute); ; {
		cmd := h.command(0, "ssh", "app/0", "--", "timeout 5 bash -c 'read -r seen </dev/tcp/"+address+"/8123; echo $seen'")
		if out, err := cmd.CombinedOutput(); err == nil && strings.HasPrefix(string(out), "10.") {
			return
		}
		if time.Now().After(end) {
			h.Fatal("a tunnel isn't mended")
		}
	}
}

// isForgotten: a host that was removed has no way here any more.
func (h *hosts) isForgotten() {
	h.on(0, "remove-machine", "1", "--force", "--no-prompt")
	h.on(0, "wait", "--timeout", "5m")
	for end := time.Now().Add(time.Minute); ; {
		out, err := exec.Command("ip", "netns", "exec", "h0", "ip", "route").CombinedOutput()
		if err != nil {
			h.Fatalf("%v: %s", err, out)
		}
		if strings.Count(string(out), " dev uw") == 1 {
			return
		}
		if time.Now().After(end) {
			h.Fatalf("host 0 has these routes: %s", out)
		}
	}
}

// on runs a command on a host.
func (h *hosts) on(host int, args ...string) string {
	h.Helper()
	var out, trouble bytes.Buffer
	cmd := h.command(host, args...)
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil {
		h.Fatalf("host %d: unitd %v: %v: %s%s", host, args, err, &out, &trouble)
	}
	return out.String()
}

func (h *hosts) command(host int, args ...string) *exec.Cmd {
	cmd := exec.Command("ip", append([]string{"netns", "exec", fmt.Sprintf("h%d", host), h.program}, args...)...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("UNITD_DATA=%s/host%d", h.dir, host), "UNITD_STORE="+h.store, "HOME="+h.dir)
	return cmd
}

// begins begins a command, whose output is read as it comes.
func (h *hosts) begins(cmd *exec.Cmd) *output {
	h.Helper()
	file := filepath.Join(h.TempDir(), "output")
	f, err := os.Create(file)
	if err != nil {
		h.Fatal(err)
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	return &output{h.T, file}
}

// output is a file that a command writes to.
type output struct {
	*testing.T
	file string
}

func (o *output) text() string {
	b, _ := os.ReadFile(o.file)
	return string(b)
}

// until waits until it has a text.
func (o *output) until(text string) {
	o.Helper()
	if !o.has(text) {
		o.Fatalf("there is no %q in %s", text, o.text())
	}
}

// has waits until it has a text, and says whether that came in time.
func (o *output) has(text string) bool {
	for end := time.Now().Add(time.Minute); !strings.Contains(o.text(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// noHosts says why there can be no such hosts here; empty: there can.
func noHosts() string {
	if os.Geteuid() != 0 {
		return "only root can have isolated units with networks"
	}
	for _, program := range []string{"ip", "python3", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			return "there is no " + program
		}
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return "there is no /dev/net/tun"
	}
	return ""
}

// runInsideHosts runs the test again where it has networks and a /run of its own.
func runInsideHosts(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs none /run && mkdir -p /run/netns && exec "$0" "$@"`,
		self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=9m")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v: %s", err, out)
	}
}

// beginHosts has three hosts with an agent each: that which has the models, and those of
// machines 0 and 1.
func beginHosts(t *testing.T) *hosts {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	h := &hosts{T: t, dir: t.TempDir(), program: filepath.Join(bin, "unitd")}
	for _, line := range []string{"link set lo up", "link add br0 type bridge", "address add 10.99.0.1/24 dev br0", "link set br0 up"} {
		h.ip(line)
	}
	for i := range 3 {
		n := fmt.Sprint(i)
		for _, line := range []string{
			"netns add h" + n, "link add v" + n + " type veth peer name eth0 netns h" + n, "link set v" + n + " master br0 up",
			"-n h" + n + " link set lo up", "-n h" + n + " address add 10.99.0.1" + n + "/24 dev eth0", "-n h" + n + " link set eth0 up",
			"-n h" + n + " route add default via 10.99.0.1",
		} {
			h.ip(line)
		}
	}
	server := etcdtest.ClusterAt(t, "10.99.0.1", 1)[0]
	h.store = "etcd://" + server.Endpoint + "/unitd"
	h.writes("charm/metadata.yaml", "name: app\npeers: {ring: {interface: ring}}\n")
	h.writes("charm/config.yaml", "options: {motto: {type: string}}\n")
	h.writes("charm/dispatch", meetingCharm)
	h.writes("token", "a token that nobody uses\n")
	if err := writeCertificate(filepath.Join(h.dir, "cert"), filepath.Join(h.dir, "key")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.end)
	h.agent(0)
	for i := 1; i < 3; i++ {
		h.writes(fmt.Sprintf("join%d", i), h.on(0, "add-machine"))
		h.agent(i, "--join", fmt.Sprintf("@%s/join%d", h.dir, i))
	}
	return h
}

// agent begins that of a host, and waits until it runs.
func (h *hosts) agent(i int, args ...string) {
	h.Helper()
	own := []string{"agent", "--listen", "0.0.0.0:9464", "--listen-cert", h.dir + "/cert", "--listen-key", h.dir + "/key", "--listen-token", h.dir + "/token", "--allow-sessions"}
	if err := os.Mkdir(fmt.Sprintf("%s/host%d", h.dir, i), 0o700); err != nil {
		h.Fatal(err)
	}
	h.agents[i] = h.command(i, slices.Concat(own, args)...)
	h.begins(h.agents[i]).until("the agent runs")
}

// end removes all, and ends the agents.
func (h *hosts) end() {
	if h.Failed() {
		return // with this process all goes
	}
	h.on(0, "remove-application", "app", "--force", "--no-prompt")
	h.on(0, "wait", "--timeout", "5m")
	for _, a := range h.agents {
		_ = a.Process.Signal(syscall.SIGTERM)
		_ = a.Wait()
	}
}

func (h *hosts) ip(line string) {
	h.Helper()
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		h.Fatalf("ip %s: %v: %s", line, err, out)
	}
}

func (h *hosts) writes(name, text string) {
	h.Helper()
	path := filepath.Join(h.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o700)
	}
	if err != nil {
		h.Fatal(err)
	}
}
