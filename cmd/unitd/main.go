// Command unitd runs charms: it is the command line by which people deploy,
// relate and look at applications, and the agent that runs their units' hooks.
//
// Linked under a hook tool's name it is that hook tool, so that "go run" needs
// no second program; package cmd/hooktool is the small one made for that.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/unitd/unitd/cli"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/client"
	"github.com/unitd/unitd/tunnel"
)

func main() {
	for _, inside := range []func([]string) (int, bool){isolate.Main, oci.Main, tunnel.Main} {
		if code, ok := inside(os.Args); ok {
			os.Exit(code)
		}
	}
	// A hook tool by its name; nothing that unitd is called is one.
	name := filepath.Base(os.Args[0])
	if slices.Contains(tools.Outside(), name) || strings.HasPrefix(name, "python") {
		os.Exit(client.Main(os.Args))
	}
	if !slices.Contains(cli.Names(), name) && os.Getenv("JUJU_CONTEXT_ID") != "" && os.Getenv("UNITD_RUN") != "" {
		os.Exit(client.Main(os.Args))
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	code := cli.Run(ctx, os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}

// endings are the signals by which people, terminals and service managers end a
// command in good order. A command that was begun by nohup outlives its terminal.
func endings() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
