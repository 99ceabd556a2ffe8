package tools

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// help is what --help prints: docs/spec/hook-tools.md §2.3 has its shape. Defaults
// are those of this very hook; charms read them.
func (f *flags) help(t Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s", t.Name)
	options := f.options()
	if options != "" {
		b.WriteString(" [options]")
	}
	args := t.Args
	if _, ok := f.ctx.HookRelation(); ok && t.RelationArgs != "" {
		args = t.RelationArgs
	}
	if args != "" {
		b.WriteString(" " + args)
	}
	fmt.Fprintf(&b, "\n\nSummary:\n%s\n", t.Summary)
	if options != "" {
		fmt.Fprintf(&b, "\nOptions:\n%s", options)
	}
	if t.Details != "" {
		fmt.Fprintf(&b, "\nDetails:\n%s\n", strings.TrimSpace(t.Details))
	}
	return b.String()
}

func (f *flags) options() string {
	var b bytes.Buffer
	f.SetOutput(&b)
	f.PrintDefaults()
	f.SetOutput(io.Discard)
	return b.String()
}
