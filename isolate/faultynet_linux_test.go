package isolate_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// faulty is the network of a new world with cells app/0, app/1…, all of which listen and
// echo, or ends the test where networks can't fail.
func faulty(t *testing.T, delay bool, cells int) (*world, *isolate.FaultyNet, []*isolate.Cell) {
	t.Helper()
	if err := isolate.CanFault(delay); err != nil {
		t.Skipf("skipped: %v", err)
	}
	w := newWorld(t)
	var all []*isolate.Cell
	for n := range cells {
		all = append(all, w.serving(n))
	}
	f := w.cells.FaultyNet()
	t.Cleanup(f.Close)
	return w, f, all
}

// serving is a cell that listens and echoes.
func (w *world) serving(n int) *isolate.Cell {
	w.t.Helper()
	c := w.open(fmt.Sprintf("app/%d", n), model.IsolateOn)
	listenIn(w.t, c)
	want(w.t, c, "/var/lib/juju/tools/client echo /run/echoes >/dev/null 2>&1 & until [ -e /run/echoes ]; do sleep 0.01; done", "")
	return c
}

// addresses are those of a cell.
func addresses(c *isolate.Cell) []string {
	n := c.Network()
	if n.IPv6 == "" {
		return []string{n.Address}
	}
	return []string{n.Address, n.IPv6}
}

// reaches looks whether one reaches another, from a cell or, nil, from the host. That it
// doesn't takes a while to see.
func reaches(t *testing.T, from, to *isolate.Cell, want bool) {
	t.Helper()
	for _, address := range addresses(to) {
		var got string
		var err error
		switch {
		case from == nil && want:
			got, err = ask(address, 5*time.Minute)
		case from == nil:
			got, err = ask(address, 300*time.Millisecond)
		case want:
			got, err = run(from, "/var/lib/juju/tools/client ask "+address)
		default:
			got, err = run(from, "timeout 0.3 /var/lib/juju/tools/client ask "+address)
		}
		if want != (err == nil && got == address) {
			t.Errorf("it reaches %s: got %q, %v; want %v", address, got, err, want)
		}
	}
}

// answered is how many of so many datagrams to a cell are answered, and how long the
// fastest answer has taken.
func answered(t *testing.T, from *isolate.Cell, address string, n int) (answers int, fastest time.Duration) {
	t.Helper()
	out, err := run(from, "/var/lib/juju/tools/client echoes "+address+" "+strconv.Itoa(n))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var micro int64
	if _, err := fmt.Sscan(out, &answers, &micro); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return answers, time.Duration(micro) * time.Microsecond
}

// nothingLeft looks that no fault is left on the host.
func (w *world) nothingLeft() {
	w.t.Helper()
	left := w.left()
	// A process that another test begins has what was closed until it is another program.
	for end := time.Now().Add(time.Minute); len(left) > 0 && time.Now().Before(end); left = w.left() {
		time.Sleep(time.Millisecond)
	}
	if len(left) > 0 {
		w.t.Errorf("left are %v", left)
	}
}

// left are the tables and the ports of late frames that there are.
func (w *world) left() []string {
	w.t.Helper()
	host, err := w.cells.Host()
	must(w.t, err)
	tables, err := (&nftables.Conn{}).ListTablesOfFamily(nftables.TableFamilyBridge)
	must(w.t, err)
	left := w.late()
	for _, table := range tables {
		if strings.HasPrefix(table.Name, host.Device) {
			left = append(left, "the table "+table.Name)
		}
	}
	return left
}

// late are the ports of late frames at the world's bridge.
func (w *world) late() (names []string) {
	w.t.Helper()
	host, err := w.cells.Host()
	must(w.t, err)
	ports, err := os.ReadDir("/sys/class/net/" + host.Device + "/brif")
	must(w.t, err)
	for _, p := range ports {
		if strings.HasPrefix(p.Name(), "ut") {
			names = append(names, p.Name())
		}
	}
	return names
}

func cables(faults map[string]isolate.CableFault) isolate.NetFaults {
	all := isolate.NetFaults{Cables: map[string]isolate.CableFault{}}
	for unit, f := range faults {
		all.Cables[key(unit)] = f
	}
	return all
}

// TestHostACableThatIsDown lets nothing through, not to the host either, also for a cell
// that is started again; all others go on.
func TestHostACableThatIsDown(t *testing.T) {
	t.Parallel()
	w, f, c := faulty(t, false, 3)
	down := cables(map[string]isolate.CableFault{"app/1": {Down: true}})
	must(t, f.Set(down))
	reaches(t, c[0], c[1], false)
	reaches(t, c[1], c[0], false)
	reaches(t, nil, c[1], false)
	reaches(t, c[0], c[2], true)
	endInit(t, c[1])
	c[1] = w.serving(1)
	reaches(t, nil, c[1], false)
	must(t, f.Set(isolate.NetFaults{}))
	reaches(t, c[0], c[1], true)
	reaches(t, nil, c[1], true)
	w.nothingLeft()
	must(t, f.Set(down))
	f.Close()
	reaches(t, c[1], c[2], true)
	w.nothingLeft()
}

// TestHostGroupsAreParted: they don't reach each other, and reach the others and the host.
func TestHostGroupsAreParted(t *testing.T) {
	t.Parallel()
	w, f, c := faulty(t, false, 3)
	must(t, f.Set(isolate.NetFaults{Parted: []isolate.Parted{{One: []string{key("app/0")}, Other: []string{key("app/1")}}}}))
	reaches(t, c[0], c[1], false)
	reaches(t, c[1], c[0], false)
	for _, n := range []int{0, 1} {
		reaches(t, c[n], c[2], true)
		reaches(t, c[2], c[n], true)
		reaches(t, nil, c[n], true)
	}
	f.Close()
	reaches(t, c[0], c[1], true)
	w.nothingLeft()
}

// TestHostFramesAreLost: about as many of what the cell sends as is said, whether it asks
// or answers; what is sent to it arrives.
func TestHostFramesAreLost(t *testing.T) {
	t.Parallel()
	w, f, c := faulty(t, false, 2)
	const n = 200 // as many as wait at once for who echoes, however late that is
	for _, address := range addresses(c[1]) {
		must(t, f.Set(isolate.NetFaults{}))
		if got, _ := answered(t, c[0], address, n); got < n*9/10 {
			t.Fatalf("%d of %d are answered without any fault", got, n)
		}
		for _, unit := range []string{"app/0", "app/1"} {
			must(t, f.Set(cables(map[string]isolate.CableFault{unit: {Loss: isolate.MaxLoss / 2}})))
			if got, _ := answered(t, c[0], address, n); got < n*3/10 || got > n*7/10 {
				t.Errorf("with half of what %s sends lost %d of %d are answered", unit, got, n)
			}
		}
		must(t, f.Set(cables(map[string]isolate.CableFault{"app/0": {Loss: isolate.MaxLoss}})))
		if got, _ := answered(t, c[0], address, 10); got != 0 {
			t.Errorf("with all lost %d are answered", got)
		}
	}
	f.Close()
	w.nothingLeft()
}

// TestHostFramesAreLate: an answer takes as much longer, in whichever direction it is
// asked for, also from a cell that is started again, and where all is; streams arrive
// whole; and what else is wrong holds for late frames too.
func TestHostFramesAreLate(t *testing.T) {
	t.Parallel()
	w, f, c := faulty(t, true, 3)
	const delay = 150 * time.Millisecond
	late := cables(map[string]isolate.CableFault{"app/1": {Delay: delay}})
	must(t, f.Set(late))
	isLate := func() {
		t.Helper()
		for _, pair := range [][2]int{{0, 1}, {1, 0}} {
			for _, address := range addresses(c[pair[1]]) {
				// The first ones may be lost, where a cell has just been started.
				got, fastest := answered(t, c[pair[0]], address, 20)
				if got == 0 || fastest < delay {
					t.Errorf("%s: %d are answered, after %v at least", address, got, fastest)
				}
			}
		}
		reaches(t, nil, c[1], true)
	}
	isLate()
	if _, fastest := answered(t, c[0], c[2].Network().Address, 20); fastest >= delay {
		t.Errorf("others take %v, too", fastest)
	}
	if left := w.late(); len(left) != 1 {
		t.Fatalf("the ports of late frames are %v", left)
	}
	endInit(t, c[1])
	c[1] = w.serving(1)
	isLate()
	must(t, w.cells.Halt())
	for n := range c {
		c[n] = w.serving(n)
	}
	isLate()

	must(t, f.Set(cables(map[string]isolate.CableFault{"app/1": {Delay: time.Millisecond}})))
	for _, pair := range [][2]int{{0, 1}, {1, 0}} {
		for _, address := range addresses(c[pair[1]]) {
			want(t, c[pair[0]], "/var/lib/juju/tools/client receive "+address, streamSum())
		}
	}

	late.Parted = []isolate.Parted{{One: []string{key("app/0")}, Other: []string{key("app/1")}}}
	must(t, f.Set(late))
	reaches(t, c[1], c[0], false)
	reaches(t, c[0], c[1], false)
	reaches(t, c[1], c[2], true)
	must(t, f.Set(cables(map[string]isolate.CableFault{"app/1": {Delay: delay, Loss: isolate.MaxLoss / 2}})))
	const n = 1000
	if got, fastest := answered(t, c[1], c[0].Network().Address, n); got < n*3/10 || got > n*7/10 || fastest < delay {
		t.Errorf("with half of what is late lost %d of %d are answered, after %v at least", got, n, fastest)
	}
	must(t, f.Set(cables(map[string]isolate.CableFault{"app/1": {Delay: delay, Down: true}})))
	reaches(t, nil, c[1], false)
	reaches(t, c[1], c[0], false)
	f.Close()
	w.nothingLeft()
	reaches(t, c[1], c[0], true)
	if _, fastest := answered(t, c[1], c[0].Network().Address, 20); fastest >= delay {
		t.Errorf("it takes %v still", fastest)
	}
}

// TestHostFaultsGoWithWhoKeepsThem, however he ends.
func TestHostFaultsGoWithWhoKeepsThem(t *testing.T) {
	t.Parallel()
	w, _, c := faulty(t, true, 2)
	keeper := exec.Command(os.Args[0], "delay", w.cells.Dir, key("app/1"))
	keeper.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := keeper.StdoutPipe()
	must(t, err)
	must(t, keeper.Start())
	if _, err := io.ReadFull(said, make([]byte, 4)); err != nil {
		t.Fatalf("%v: %v", err, keeper.Wait())
	}
	if _, fastest := answered(t, c[0], c[1].Network().Address, 20); fastest < keptDelay {
		t.Errorf("it takes %v", fastest)
	}
	must(t, keeper.Process.Kill())
	_ = keeper.Wait()
	w.nothingLeft()
	reaches(t, c[0], c[1], true)
}

const keptDelay = 50 * time.Millisecond

// delayMain has frames of a cell be late until it is killed.
func delayMain(dir, key string) int {
	f := (&isolate.Cells{Dir: dir}).FaultyNet()
	if err := f.Set(isolate.NetFaults{Cables: map[string]isolate.CableFault{key: {Delay: keptDelay}}}); err != nil {
		fmt.Println(err)
		return 1
	}
	os.Stdout.WriteString("set\n")
	select {}
}
