package isolate

import (
	"context"
	"encoding/binary"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// What waits of a cell's late frames at most; what is more is lost, as on any line.
const (
	lateBytes  = 16 << 20
	lateFrames = 1 << 14
)

// largestFrame is more than a frame can be that the kernel hasn't divided yet.
const largestFrame = 1 << 17

// late has the frames that a cell sends be late. It hears them at the cell's cable, where
// frameRules have the bridge drop them, and sends them later by a port of its own. Both
// give and take frames with what is known of their checksums and of how they are to be
// divided (a virtio_net_hdr), so nothing of them changes. The port goes with this
// process.
type late struct {
	cable, device, port string // names of links: the cell's cable, the bridge, the own port
	delay               atomic.Int64
	waiting             atomic.Int64 // bytes
	queue               chan lateFrame
	out                 int // the own port
	stop                context.CancelFunc
	pumps               sync.WaitGroup

	mu    sync.Mutex
	in    *os.File // what comes by the cable; nil: there is none, or nothing is to be heard yet
	index int      // of the cable that it is of
}

// lateFrame is a frame, and when it is to be sent.
type lateFrame struct {
	due   time.Time
	frame []byte
}

// openLate makes the port. Nothing is heard until attach.
func openLate(cable, device, port string) (*late, error) {
	out, err := openPort(port)
	if err != nil {
		return nil, errors.Trace(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &late{cable: cable, device: device, port: port, out: out, stop: cancel, queue: make(chan lateFrame, lateFrames)}
	l.pumps.Go(func() { l.send(ctx) })
	return l, nil
}

// openPort makes a device whose frames this process sends: a TAP.
func openPort(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == unix.ENOENT || err == unix.ENODEV || err == unix.ENXIO {
		return -1, errors.WithType(errors.New("frames can't be late without /dev/net/tun: modprobe tun, or give it to this container"), ErrNoRights)
	}
	if err != nil {
		return -1, noLate(err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return -1, noLate(err)
	}
	return fd, nil
}

// noLate is that this host lets nobody have late frames.
func noLate(err error) error {
	return errors.WithType(errors.Annotate(err, "frames can't be late, which takes root, /dev/net/tun and packet sockets"), ErrNoRights)
}

// openHearing hears what comes in by a device, whose index is more than 0.
func openHearing(index int) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0) // of nothing yet
	if err != nil {
		return nil, noLate(err)
	}
	for _, option := range []int{unix.PACKET_VNET_HDR, unix.PACKET_IGNORE_OUTGOING} {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, option, 1); err != nil {
			unix.Close(fd)
			return nil, noLate(err)
		}
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, lateBytes)
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index}); err != nil {
		unix.Close(fd)
		return nil, noLate(err)
	}
	return os.NewFile(uintptr(fd), "cable"), nil
}

// attach has the port at the bridge that is there now, and hears the cable that is there
// now: the bridge and the cable of a cell that is started again are new ones. It does
// nothing where all is as it was.
func (l *late) attach() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.plug(); err != nil {
		return errors.Annotate(err, "cannot have late frames on the units' network")
	}
	index := 0
	if cable, err := netlink.LinkByName(l.cable); err == nil {
		index = cable.Attrs().Index
	}
	if index == l.index {
		return nil
	}
	l.hush()
	if index == 0 {
		return nil
	}
	in, err := openHearing(index)
	if errors.Is(err, unix.ENODEV) { // gone again
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	l.in, l.index = in, index
	l.pumps.Go(func() { l.hear(in) })
	return nil
}

// plug has the port at the bridge. The bridge isn't to learn that the cell is there: what
// is sent to it goes by its cable.
func (l *late) plug() error {
	bridge, err := netlink.LinkByName(l.device)
	if err != nil {
		return nil // until there is one
	}
	port, err := netlink.LinkByName(l.port)
	if err != nil {
		return errors.Trace(err)
	}
	if port.Attrs().MasterIndex == bridge.Attrs().Index {
		return nil
	}
	if err := netlink.LinkSetMTU(port, bridge.Attrs().MTU); err != nil {
		return errors.Trace(err)
	}
	if err := netlink.LinkSetMaster(port, bridge); err != nil {
		return errors.Trace(err)
	}
	if err := netlink.LinkSetLearning(port, false); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(netlink.LinkSetUp(port))
}

// hush hears no cable any more; l.mu is held.
func (l *late) hush() {
	if l.in != nil {
		l.in.Close()
	}
	l.in, l.index = nil, 0
}

// hear reads the frames of a cable until it is closed.
func (l *late) hear(in *os.File) {
	b := make([]byte, largestFrame)
	for {
		n, err := in.Read(b)
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case errors.Is(err, unix.ENETDOWN): // the cable is gone, or unplugged for a while
			continue
		case err != nil:
			return
		}
		if l.waiting.Add(int64(n)) > lateBytes {
			l.waiting.Add(int64(-n))
			continue
		}
		f := lateFrame{due: time.Now().Add(time.Duration(l.delay.Load())), frame: append([]byte(nil), b[:n]...)}
		select {
		case l.queue <- f:
		default:
			l.waiting.Add(int64(-n))
		}
	}
}

// send sends the frames when they are due, in the order in which they came.
func (l *late) send(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var f lateFrame
		select {
		case <-ctx.Done():
			return
		case f = <-l.queue:
		}
		if wait := time.Until(f.due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
		_, _ = unix.Write(l.out, f.frame) // a port that is at no bridge loses it
		l.waiting.Add(int64(-len(f.frame)))
	}
}

// close takes the port away; what waits is lost.
func (l *late) close() {
	l.mu.Lock()
	l.hush()
	l.mu.Unlock()
	l.stop()
	l.pumps.Wait()
	unix.Close(l.out)
}
