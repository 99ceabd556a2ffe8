// Package tools has the hook tools, by which a running hook talks to its unit
// agent, and the socket that serves them.
//
//	hook ── config-get port ──▶ client ──socket──▶ Server ──▶ Run ──▶ hookcontext
//	                              ◀── exit code, stdout, stderr ──┘
//
// Each tool is one file, named after the tool, and one row in Table; files
// with a hyphen in their name are tools and others are not. A tool says which
// flags it takes, checks its arguments, and runs against the context of the
// hook; everything else is common: flags and their errors (flags.go), help
// (help.go), output formats (format.go, yaml.go), key=value lists and --file
// (keyvalues.go, settingsfile.go).
//
// To charms the tools are Juju 3.6's: names, flags, output, error texts and
// exit codes are those of docs/spec/hook-tools.md, and testdata/observed.jsonl has
// what the original was seen to do. Where they differ, the test of that file
// has the list with reasons. When something is written is not decided here but
// by the context: see package hookcontext.
package tools
