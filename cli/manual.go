package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manualCmd writes what packages have beside the programs. It is not for people, who
// have help.
func (a agentVerbs) manualCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "manual DIR",
		Short:   "Write the manual's pages, and completion, as packages install them",
		Example: "  unitd manual ./usr",
		Hidden:  true,
		Args:    Args(1, 1, "no directory specified"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return errors.Annotate(writeManual(cmd.Root(), args[0]), "cannot write the manual")
		},
	}
}

// writeManual writes a page for the program and one for each of its verbs, and the
// completion of three shells, where they are below a prefix.
func writeManual(root *cobra.Command, dir string) error {
	files := map[string][]byte{"share/man/man1/unitd.1": manualPage(root)}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			files["share/man/man1/unitd-"+cmd.Name()+".1"] = manualPage(cmd)
		}
	}
	var bash, zsh, fish bytes.Buffer
	if err := root.GenBashCompletionV2(&bash, true); err != nil {
		return errors.Trace(err)
	}
	if err := root.GenZshCompletion(&zsh); err != nil {
		return errors.Trace(err)
	}
	if err := root.GenFishCompletion(&fish, true); err != nil {
		return errors.Trace(err)
	}
	files["share/bash-completion/completions/unitd"] = bash.Bytes()
	files["share/zsh/site-functions/_unitd"] = zsh.Bytes()
	files["share/fish/vendor_completions.d/unitd.fish"] = fish.Bytes()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return errors.Trace(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// manualPage is a command's help as a page of section 1.
func manualPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	title := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" unitd \"User commands\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(title), title, roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(cmd.UseLine()))
	if cmd.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", strings.ReplaceAll(roff(cmd.Long), "\n\n", "\n.PP\n"))
	}
	manualVerbs(&b, cmd)
	for _, flags := range []struct {
		title string
		of    *pflag.FlagSet
	}{{"OPTIONS", cmd.NonInheritedFlags()}, {"OPTIONS OF ALL COMMANDS", cmd.InheritedFlags()}} {
		if flags.of.HasAvailableFlags() {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s.fi\n", flags.title, roff(flags.of.FlagUsages()))
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	return b.Bytes()
}

// manualVerbs lists the verbs of a command by their groups.
func manualVerbs(b *bytes.Buffer, cmd *cobra.Command) {
	for _, group := range cmd.Groups() {
		fmt.Fprintf(b, ".SH %s\n", strings.ToUpper(roff(strings.TrimSuffix(group.Title, ":"))))
		for _, verb := range cmd.Commands() {
			if verb.GroupID == group.ID && verb.IsAvailableCommand() {
				fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(verb.Name()), roff(verb.Short))
			}
		}
	}
}

// roff is a text as roff prints it as it is.
func roff(text string) string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\e`), "-", `\-`), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
