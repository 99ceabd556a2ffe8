package agent

import (
	"runtime/debug"
	"strings"
)

// built is the version that the linker was told (-X), which is the Makefile's VERSION.
var built string

// Build is what is known of what this program was built from.
type Build struct {
	// Version is a tag without its v, else 0.0.0-dev+COMMIT, with twelve digits of the
	// commit; 0.0.0-dev where that isn't known.
	Version string
	// Commit is the commit's hash, as much of it as is known.
	Commit string
	// Go is the version of the compiler.
	Go string
	// Modified says of the files whether they were other ones than the commit's; nil: it
	// isn't known.
	Modified *bool
	// Tags are those that it was built with, by commas.
	Tags string
}

// Built is what this program was built from.
func Built() Build {
	info, _ := debug.ReadBuildInfo()
	return build(built, info)
}

// Version is the version of this program.
func Version() string { return Built().Version }

// Release is the version of a program that was built from a tag; empty for another one.
func (b Build) Release() string {
	if strings.HasPrefix(b.Version, develops) {
		return ""
	}
	return b.Version
}

// develops is the version of what has no tag.
const develops = "0.0.0-dev"

// build is what is known by what the linker was told and by what the compiler has noted.
func build(told string, info *debug.BuildInfo) Build {
	b := Build{Version: told}
	if info == nil {
		info = &debug.BuildInfo{}
	}
	b.Go = info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			modified := s.Value == "true"
			b.Modified = &modified
		case "-tags":
			b.Tags = s.Value
		}
	}
	if _, commit, ok := strings.Cut(told, develops+"+"); ok && b.Commit == "" {
		b.Commit = commit
	}
	if b.Version != "" {
		return b
	}
	// A version of the module that go install has fetched. One that stands for a commit
	// after a tag is no version of ours.
	if v := strings.TrimPrefix(info.Main.Version, "v"); strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(v, "-0.") && !strings.Contains(v, "-2") && !strings.Contains(v, "+") {
		b.Version = v
		return b
	}
	b.Version = develops
	if len(b.Commit) >= 12 {
		b.Version += "+" + b.Commit[:12]
	}
	return b
}
