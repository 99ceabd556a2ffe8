package agent

import (
	"runtime/debug"
)

// Version is the version of this program; empty if it has none.
func Version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return build.Main.Version
}
