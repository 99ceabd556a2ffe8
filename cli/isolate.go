package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// declareIsolation gives a command the flags by which units are isolated.
func declareIsolation(cmd *cobra.Command, f *deploy.Isolate) {
	fs := cmd.Flags()
	fs.StringVar(&f.Mode, "isolate", "", "give each unit a machine of its own on this host: "+strings.Join(model.IsolationModes(), ", "))
	fs.Lookup("isolate").NoOptDefVal = model.IsolateOn
	fs.StringVar(&f.Root, "isolate-root", "", "the directory, or the base of this host, that isolated units have as their root (the host's root)")
	fs.StringVar(&f.OS, "isolate-os", "", "the system that isolated units are told they are on: "+strings.Join(isolate.Systems(), ", "))
}
