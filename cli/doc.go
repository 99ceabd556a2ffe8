// Package cli is the command line: one file for each verb, or for a few that are
// close to each other, and [Groups], the table by which they are put into the
// program, its help and its completion.
//
// [Run] carries out one command line. Verbs of a family are methods of one type, which
// has what they need of the world and no more: most have a base, which is what they
// print to and the model that they are about; those that bring charms into a model have
// a deploy.Deployer as well; and those of [Inside] have doors, function fields that
// tests fill too.
//
// What is shown is made by package render, what an agent is by package agent, and what
// becomes of the model by package state: a verb reads its flags, calls these in order,
// and prints.
package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/unitd/unitd/agent"
)

// The exit codes. Source: docs/spec/cli-juju.md §0.
const (
	Done   = 0
	Failed = 1
	Wrong  = 2
	// Interrupted is what shells expect of a command that Ctrl-C ended.
	Interrupted = 130
)

// ErrUsage marks what was wrong before anything was done: its exit code is Wrong.
const ErrUsage = agent.ErrUsage

// Usagef is an error of wrong usage.
func Usagef(format string, args ...any) error {
	return errors.WithType(fmt.Errorf(format, args...), ErrUsage)
}

// Exit is an error that ends the program with this code, and says nothing: what
// there was to say was said.
type Exit int

// Error names the code.
func (e Exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Args checks the number of positional arguments: few says what is missing where
// there are less than least; more than most (-1: any number) are refused. Its
// errors are ErrUsage.
func Args(least, most int, few string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usagef("%s", few)
		case most >= 0 && len(args) > most:
			return Usagef("unrecognized args: %q", args[most:])
		}
		return nil
	}
}

// Streams are what a command reads and prints.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Quiet leaves out what is told beside the result.
	Quiet bool
}

// note tells a person something beside the result.
func (s Streams) note(format string, args ...any) {
	if !s.Quiet {
		fmt.Fprintf(s.Err, format+"\n", args...)
	}
}

// terminal is the file, if it is a terminal.
func tty(stream any) (*os.File, bool) {
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// Group is some verbs that belong together.
type Group struct {
	// Title is what help calls them.
	Title string
	Verbs []Verb
}

// Verb is a command that is made when it is needed: most runs need one.
type Verb struct {
	// Names are its name and its other names, with spaces between them: those of what
	// Make makes.
	Names string
	Make  func() *cobra.Command
}

// InsideTitle is the title of the verbs that lead inside of units.
const InsideTitle = "Inside of units"

// Groups is the table of all verbs of this package.
func Groups(inside Inside) []Group {
	return []Group{
		{InsideTitle, []Verb{{"ssh", inside.SSH}, {"scp", inside.SCP}, {"logs", inside.Logs}}},
	}
}

// Add puts verbs into a program: its help has them by groups, in this order.
// Groups of one title are one. Only: the one verb that is needed; empty: all are.
func Add(root *cobra.Command, groups []Group, only string) {
	for _, g := range groups {
		if !root.ContainsGroup(g.Title) {
			root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title + ":"})
		}
		for _, verb := range g.Verbs {
			if only == "" || verb.named(only) {
				cmd := verb.Make()
				cmd.GroupID = g.Title
				root.AddCommand(cmd)
			}
		}
	}
}

// needed is the verb that the word of a command line names, where it is all that
// there need be of the groups; empty: more of them may be needed.
func needed(groups []Group, word string) string {
	if slices.Contains(aboutAll(), word) || !has(groups, word) {
		return ""
	}
	return word
}

// has says whether one of the groups' verbs has that name.
func has(groups []Group, name string) bool {
	return slices.ContainsFunc(groups, func(g Group) bool {
		return slices.ContainsFunc(g.Verbs, func(v Verb) bool { return v.named(name) })
	})
}

// aboutAll are verbs that are about all others.
func aboutAll() []string { return []string{"completion", "manual"} }

func (v Verb) named(word string) bool {
	return word != "" && slices.Contains(strings.Fields(v.Names), word)
}
