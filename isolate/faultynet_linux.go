package isolate

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
)

// FaultyNet makes and keeps faults of the network of the cells in a directory, whoever
// has opened them. The faults go with Close, and with the process, however that ends.
// They are of links by their names: a cell that is started again has those that it had.
// There is one for a directory at a time. It is safe for use by many goroutines.
type FaultyNet struct {
	cells  *Cells
	bridge *bridge // for its names

	mu    sync.Mutex
	rules *frameRules   // nil: none
	has   []frameRule   // what they are
	done  chan struct{} // ends the watch; nil: there is none
	watch sync.WaitGroup

	// The watch takes this one only: who holds mu may wait for it.
	latesMu sync.Mutex
	lates   map[string]*late // by the key of the cell
}

// FaultyNet is that of these cells; nothing is wrong yet.
func (c *Cells) FaultyNet() *FaultyNet {
	return &FaultyNet{cells: c, bridge: &bridge{dir: c.Dir}, lates: map[string]*late{}}
}

// CanFault says why this process can't have networks fail, also with frames that are
// late; nil: it can. The error is ErrNoRights, and says so in a line.
func CanFault(delay bool) error {
	rules, err := openFrameRules(fmt.Sprintf("unitd-try-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err != nil {
		return errors.Trace(err)
	}
	defer rules.close()
	for _, chance := range []int{1, MaxLoss} {
		if err := rules.set([]frameRule{{at: crossing, in: "none", out: "none", chance: chance}}); err != nil {
			return errors.Trace(err)
		}
	}
	if !delay {
		return nil
	}
	l, err := openLate("", "", "utry%d")
	if err != nil {
		return errors.Trace(err)
	}
	defer l.close()
	in, err := openHearing(1) // the loopback device of any network
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(in.Close())
}

// ports are the names of a cell's ports.
func (f *FaultyNet) ports(key string) ports {
	return ports{cable: f.bridge.link(key), late: hashed("ut", f.bridge.dir+"\x00"+key, 12)}
}

// Set has these be the faults, in the place of those that there were. After an error the
// faults are those that there were, or none. The error is ErrNoRights where this host
// can't have them.
func (f *FaultyNet) Set(faults NetFaults) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	late := faults.late()
	made, err := f.openLates(late)
	had, rules := f.has, faults.rules(f.ports)
	if err == nil {
		err = f.setRules(rules)
	}
	if err != nil {
		f.closeLates(made)
		return errors.Trace(err)
	}
	f.latesMu.Lock()
	var over []string
	for key, l := range f.lates {
		l.delay.Store(int64(faults.Cables[key].Delay))
		if !slices.Contains(late, key) {
			over = append(over, key)
		}
	}
	f.latesMu.Unlock()
	f.closeLates(over)
	if err := f.attach(); err != nil {
		f.end()
		return errors.Trace(err)
	}
	if slices.ContainsFunc(had, func(r frameRule) bool { return !slices.Contains(rules, r) }) {
		return errors.Trace(f.introduce())
	}
	return nil
}

// openLates has what makes the frames of these cells late there, and says which are new.
func (f *FaultyNet) openLates(keys []string) (made []string, err error) {
	f.latesMu.Lock()
	defer f.latesMu.Unlock()
	for _, key := range keys {
		if f.lates[key] != nil {
			continue
		}
		p := f.ports(key)
		l, err := openLate(p.cable, f.bridge.device(), p.late)
		if err != nil {
			return made, errors.Trace(err)
		}
		f.lates[key] = l
		made = append(made, key)
	}
	return made, nil
}

// closeLates ends it for these cells.
func (f *FaultyNet) closeLates(keys []string) {
	f.latesMu.Lock()
	defer f.latesMu.Unlock()
	for _, key := range keys {
		f.lates[key].close()
		delete(f.lates, key)
	}
}

// setRules has the rules be those; without any there is nothing.
func (f *FaultyNet) setRules(rules []frameRule) error {
	if len(rules) == 0 {
		if f.rules != nil {
			f.rules.close()
		}
		f.rules, f.has = nil, nil
		return nil
	}
	to := f.rules
	if to == nil {
		made, err := openFrameRules(f.bridge.device() + "-faults")
		if err != nil {
			return errors.Trace(err)
		}
		to = made
	}
	if err := to.set(rules); err != nil {
		if f.rules == nil {
			to.close()
		}
		return errors.Trace(err)
	}
	f.rules, f.has = to, rules
	return nil
}

// attach has late frames at the links that there are, and at those that come.
func (f *FaultyNet) attach() error {
	f.latesMu.Lock()
	none := len(f.lates) == 0
	f.latesMu.Unlock()
	if none {
		f.unwatch()
		return nil
	}
	if f.done == nil {
		done := make(chan struct{})
		updates, err := subscribe(done)
		if err != nil {
			close(done)
			return errors.Trace(err)
		}
		f.done = done
		f.watch.Go(func() { f.follow(updates, done) })
	}
	return errors.Trace(f.attachLates(""))
}

// attachLates attaches those that a link is for, by its name; empty: all.
func (f *FaultyNet) attachLates(link string) error {
	f.latesMu.Lock()
	defer f.latesMu.Unlock()
	for _, l := range f.lates {
		if link != "" && link != l.device && link != l.cable {
			continue
		}
		if err := l.attach(); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// subscribe is told of the host's links until done.
func subscribe(done chan struct{}) (chan netlink.LinkUpdate, error) {
	updates := make(chan netlink.LinkUpdate)
	err := netlink.LinkSubscribe(updates, done)
	return updates, errors.Annotate(err, "cannot watch the units' network")
}

// follow attaches again when links come. What can't be attached tries again with the next
// change of the link; the frames are lost until then.
func (f *FaultyNet) follow(updates chan netlink.LinkUpdate, done chan struct{}) {
	for {
		for u := range updates {
			_ = f.attachLates(u.Attrs().Name)
		}
		// It has ended, or the kernel had more to tell than it could.
		for {
			select {
			case <-done:
				return
			default:
			}
			var err error
			if updates, err = subscribe(done); err == nil {
				break
			}
			select {
			case <-done:
			case <-time.After(again):
			}
		}
		_ = f.attachLates("")
	}
}

// again is after how long a watch is tried again for which there were too many files.
const again = 100 * time.Millisecond

// unwatch ends the watch.
func (f *FaultyNet) unwatch() {
	if f.done != nil {
		close(f.done)
		f.watch.Wait()
		f.done = nil
	}
}

// end ends all faults; f.mu is held.
func (f *FaultyNet) end() {
	_ = f.setRules(nil)
	f.latesMu.Lock()
	all := slices.Collect(maps.Keys(f.lates))
	f.latesMu.Unlock()
	f.closeLates(all)
	f.unwatch()
}

// Close ends all faults, and has the network be well at once. Set may make others.
func (f *FaultyNet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	had := len(f.has) > 0
	f.end()
	if had {
		_ = f.introduce() // as well as can be: what waits for an address fails, else
	}
}
