package tunnel

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/ipc"
	"golang.zx2c4.com/wireguard/tun"
)

// Command is the first argument of the process of a device.
const Command = "unitd-tunnel"

// readyLine is what it says once the device is there.
const readyLine = "ready\n"

// begin begins the process of a device, and waits until that is there.
func (d Device) begin() error {
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return errors.WithType(errors.New("the kernel has no WireGuard, and there is no /dev/net/tun"), ErrNone)
	}
	cmd := exec.Command(d.Program, Command, d.Name, strconv.Itoa(d.MTU))
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return errors.Trace(err)
	}
	defer said.Close()
	if err := cmd.Start(); err != nil {
		return errors.Trace(err)
	}
	late := time.AfterFunc(setUpTime, func() { _ = cmd.Process.Kill() })
	text, _ := io.ReadAll(said) // it ends as the process is ready, or ends
	late.Stop()
	if string(text) != readyLine {
		_ = cmd.Wait()
		return errors.WithType(errors.New(strings.TrimSpace(string(text))), ErrNone)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// Main is the process of a device, if the arguments say so. It ends with the device, or as it
// is told to.
func Main(args []string) (code int, ok bool) {
	if len(args) != 4 || args[1] != Command {
		return 0, false
	}
	mtu, err := strconv.Atoi(args[3])
	if err == nil {
		err = serve(args[2], mtu)
	}
	if err != nil {
		fmt.Print(err)
		return 1, true
	}
	return 0, true
}

func serve(name string, mtu int) error {
	to, err := tun.CreateTUN(name, mtu)
	if err != nil {
		return errors.Annotate(err, "cannot make a device")
	}
	defer to.Close()
	file, err := ipc.UAPIOpen(name)
	if err != nil {
		return errors.Annotate(err, "cannot have the device be told anything")
	}
	defer file.Close()
	told, err := ipc.UAPIListen(name, file)
	if err != nil {
		return errors.Annotate(err, "cannot have the device be told anything")
	}
	defer told.Close() // which removes the socket
	d := device.NewDevice(to, conn.NewDefaultBind(), device.NewLogger(device.LogLevelSilent, ""))
	defer d.Close()
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM)
	deaf := make(chan struct{})
	go func() {
		defer close(deaf) // somebody has removed the socket
		for {
			c, err := told.Accept()
			if err != nil {
				return
			}
			go d.IpcHandle(c)
		}
	}()
	if err := ready(); err != nil {
		return errors.Trace(err)
	}
	select {
	case <-ends:
	case <-deaf:
	case <-d.Wait(): // the device was removed
	}
	return nil
}

// ready says that the device is there, and keeps nobody's files.
func ready() error {
	fmt.Print(readyLine)
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return errors.Trace(err)
	}
	defer nothing.Close()
	for fd := range 3 {
		if err := syscall.Dup3(int(nothing.Fd()), fd, 0); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
