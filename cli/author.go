package cli

import (
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/state"
)

// authored has what a person's command changes be logged in the model. What an agent does is
// nobody's command, and how it joins is nobody's to read.
func (a *program) authored(cmd *cobra.Command, args []string) {
	for verb := cmd; verb.HasParent(); verb = verb.Parent() {
		if slices.Contains(ofOneDirectory(), verb.Name()) {
			return
		}
	}
	line := authorLine(cmd, args)
	a.Author = func() state.Author {
		host, _ := os.Hostname() // empty where the host has none
		return state.Author{User: account(os.Getenv), Host: host, Command: line}
	}
}

// account is the account of whoever has called this program. It is what the host says, and
// proves nothing: who may write to a store may write any name to it.
func account(env func(string) string) string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if caller := env("SUDO_USER"); caller != "" && caller != name {
		return caller + " as " + name
	}
	return name
}

// authorLine is a command line as the log has it: with the flags that were given, but for those
// that say which model it is about, and without the content of secrets.
func authorLine(cmd *cobra.Command, args []string) string {
	words := strings.Fields(cmd.CommandPath())
	secret := cmd.Name() == "add-secret" || cmd.Name() == "update-secret"
	for _, arg := range args {
		if name, _, is := strings.Cut(arg, "="); is && secret {
			arg = name + "=…"
		}
		words = append(words, model.Discreet("", arg))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case slices.Contains([]string{"store", "model", controllerOption, "quiet", noBrowserFlag}, f.Name):
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, model.Discreet("", "--"+f.Name+"="+flagText(f)))
		}
	})
	line := recording.QuoteWords(words)
	if len(line) > maxAuthorLine {
		line = strings.ToValidUTF8(line[:maxAuthorLine], "") + "…"
	}
	return line
}

// maxAuthorLine is how much of a command line the log has, in bytes.
const maxAuthorLine = 2000

// flagText is the value of a flag as people write it.
func flagText(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}
