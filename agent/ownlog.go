package agent

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/unitd/unitd/agentlog"
	"github.com/unitd/unitd/service"
)

// agentLogFile is what an agent in the background prints to, in the data directory.
const agentLogFile = "agent.log"

// reopens has a SIGHUP, which ends other commands, be told by the channel: the
// agent is to begin logs anew that somebody has renamed or removed. The one that
// this process prints to, if it was started in the background, is begun anew then.
func reopens(own *agentlog.File, manager *service.Manager) (_ <-chan struct{}, stop func()) {
	return hangups(func() {
		manager.Reload(func() {
			if own != nil {
				_ = own.Reopen() // it goes on with the old one
			}
		})
	})
}

// hangups has SIGHUP call do and then be told by the channel, and not end this
// command, until stop is called.
func hangups(do func()) (_ <-chan struct{}, stop func()) {
	got, told, over := make(chan os.Signal, 1), make(chan struct{}, 1), make(chan struct{})
	signal.Ignore(syscall.SIGHUP) // it has been notified of as an end
	signal.Notify(got, syscall.SIGHUP)
	go func() {
		defer close(over)
		for range got {
			do()
			select {
			case told <- struct{}{}:
			default:
			}
		}
	}()
	return told, func() {
		signal.Stop(got)
		close(got)
		<-over
	}
}
