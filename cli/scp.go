package cli

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/pattern"
)

// SCP is the verb scp. Source: docs/spec/containers.md §7.4;
// docs/spec/juju-clients.md §5.3.
func (d Inside) SCP() *cobra.Command {
	var f scpFlags
	cmd := &cobra.Command{
		Use:   "scp SOURCE … DESTINATION",
		Short: "Copy files to units, from them, and between them",
		Long: `Copy files and, with -r, directories. UNIT:PATH or APPLICATION/leader:PATH is a file
in a unit: in its machine if it is isolated, in the workload container that
--container names, or on this host. If PATH isn't absolute, it begins where
"unitd ssh" does; * and ? match file names. If DESTINATION is a directory, copies go
into it.

Copies keep their permissions, except those that the umask takes away, and belong to
the user that "unitd ssh" has there; -p keeps all permissions, and the times. Units of
charms with containers take one source, and directories without -r. Options of
OpenSSH's scp can follow --; those about connections have no effect here. A HOST:PATH
that is no unit is left to scp itself.`,
		Example: `  unitd scp ledger/0:/var/log/syslog .
  unitd scp -r ./conf ./extra ledger/leader:/etc/ledger
  unitd scp --container web webby/0:/srv/index.html page.html
  unitd scp ledger/0:backup.tar ledger/1:`,
		ValidArgsFunction: d.completeCopies,
		RunE: func(cmd *cobra.Command, args []string) error {
			operands, err := f.parse(args)
			if err != nil {
				return errors.Trace(err)
			}
			return d.scp(cmd.Context(), args, operands, f)
		},
	}
	d.flags(cmd, &f.container)
	cmd.Flags().BoolVarP(&f.recursive, "recursive", "r", false, "copy directories with all that is in them")
	cmd.Flags().BoolVarP(&f.preserve, "preserve", "p", false, "keep all permissions, and the times")
	return cmd
}

type scpFlags struct {
	container           string
	recursive, preserve bool
}

// withValue are the options of OpenSSH's scp that a value belongs to. Source:
// docs/spec/cli-juju.md §4.
const withValue = "cDFiJloPSX"

// parse takes the options of OpenSSH's scp, which may stand anywhere before a
// "--", and returns the operands.
func (f *scpFlags) parse(args []string) (operands []string, err error) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			operands = append(operands, args[i+1:]...)
			break
		}
		if len(word) < 2 || word[0] != '-' {
			operands = append(operands, word)
			continue
		}
		for j, c := range word[1:] {
			if strings.ContainsRune(withValue, c) {
				if j+2 == len(word) {
					i++ // its value is the next word
				}
				break
			}
			f.recursive = f.recursive || c == 'r'
			f.preserve = f.preserve || c == 'p'
		}
	}
	switch {
	case len(operands) >= 2:
		return operands, nil
	case f.container != "":
		return nil, Usagef("source and destination are required")
	}
	return nil, Usagef("at least two arguments required")
}

// forSSH are the options that were given before those of OpenSSH's scp.
func (f scpFlags) forSSH() []string {
	var args []string
	if f.recursive {
		args = append(args, "-r")
	}
	if f.preserve {
		args = append(args, "-p")
	}
	return args
}

// operand is a source or the destination. Without a unit and a host it is here.
type operand struct {
	text             string
	user, unit, host string
	path             string
}

// remote is what is before the first colon of an operand, where that is a unit or a
// machine.
var remote = pattern.New(`^(?:([^@/]+)@)?([a-z][a-z0-9-]*/(?:[0-9]+|leader)|[0-9]+(?:/[a-z]+/[0-9]+)*)$`)

// parseOperand reads an operand as scp does: a slash before the first colon makes
// it a path, but in a unit's name.
func parseOperand(text string) operand {
	before, after, there := strings.Cut(text, ":")
	m := remote.FindStringSubmatch(before)
	switch {
	case there && m != nil:
		return operand{text: text, user: m[1], unit: m[2], path: after}
	case !there || before == "" || strings.Contains(before, "/"):
		return operand{text: text, path: text}
	}
	return operand{text: text, host: before, path: after}
}

func (d Inside) scp(ctx context.Context, args, words []string, f scpFlags) error {
	var all []operand
	units, hosts := 0, 0
	for _, word := range words {
		o, err := d.reached(ctx, parseOperand(word), f.container)
		if err != nil {
			return errors.Trace(err)
		}
		if o.text != word {
			args = slices.Clone(args)
			args[slices.Index(args, word)] = o.text
		}
		all = append(all, o)
		switch {
		case o.unit != "":
			units++
		case o.host != "":
			hosts++
		}
	}
	switch {
	case hosts > 0 && f.container != "":
		return Usagef("%q must match format: [UNIT:]PATH", firstHost(all))
	case hosts > 0 && units > 0:
		return errors.Errorf("cannot copy between a unit and %q: copy to this host first", firstHost(all))
	case hosts > 0:
		return d.openSSH(ctx, "scp", append(f.forSSH(), args...))
	}
	c := copying{ctx: ctx, recursive: f.recursive, preserve: f.preserve}
	places := make([]Place, len(all))
	for i, o := range all {
		p, containers, err := d.place(ctx, o, f.container)
		if err != nil {
			return errors.Trace(err)
		}
		if containers && len(all) > 2 {
			return Usagef("only one source and one destination are allowed for a k8s application")
		}
		places[i], c.recursive = p, c.recursive || containers
	}
	last := len(all) - 1
	return errors.Trace(d.copyAll(&c, all[:last], places[:last], all[last], places[last]))
}

// reached is an operand with the host in the place of a unit that OpenSSH leads to.
func (d Inside) reached(ctx context.Context, o operand, container string) (operand, error) {
	if o.unit == "" || container != "" || !d.DropIn {
		return o, nil
	}
	u, err := d.Unit(ctx, o.unit)
	if err != nil || u.Address == "" {
		return o, errors.Trace(err)
	}
	o.unit, o.host = "", cmp.Or(o.user, defaultUser)+"@"+u.Address
	o.text = o.host + ":" + o.path
	return o, nil
}

// copyAll copies each source, also after one that couldn't be.
func (d Inside) copyAll(c *copying, sources []operand, from []Place, to operand, place Place) error {
	into, err := place.destination(to.path, len(sources) > 1)
	if err != nil {
		return errors.Annotatef(err, "cannot copy to %s", to.text)
	}
	var failed []error
	for i, o := range sources {
		names, err := from[i].glob(o.path)
		if err != nil {
			failed = append(failed, errors.Annotatef(err, "cannot copy %s", o.text))
		}
		if len(names) > 1 && !into.dir {
			return errors.Errorf("cannot copy to %s: it is no directory, and several files match %s", to.text, o.text)
		}
		for _, name := range names {
			if err := c.copy(from[i], name, place, into.named(name)); err != nil {
				failed = append(failed, err)
			}
			if c.ctx.Err() != nil {
				return errors.Trace(c.ctx.Err())
			}
		}
	}
	if len(failed) <= 1 {
		for _, err := range failed {
			return errors.Trace(err)
		}
		return nil
	}
	for _, err := range failed {
		d.note("%v", err)
	}
	return errors.Errorf("%d of the sources weren't copied, or not wholly", len(failed))
}

// place is where an operand's files are; containers: the unit has containers.
func (d Inside) place(ctx context.Context, o operand, container string) (p Place, containers bool, err error) {
	if o.unit == "" {
		dir, err := os.Getwd()
		return Place{Files: Host{}, Dir: dir, UID: -1, GID: -1}, false, errors.Annotate(err, "cannot tell the directory")
	}
	u, err := d.Unit(ctx, o.unit)
	if err != nil {
		return Place{}, false, errors.Trace(err)
	}
	if container, err = u.pick(d.Streams, container); err != nil {
		return Place{}, false, errors.Trace(err)
	}
	if container == "" {
		p, err = u.Files()
	} else if p, err = u.Workload(container); errors.Is(err, errors.NotFound) {
		err = u.notReady(container)
	}
	if err != nil {
		return Place{}, false, errors.Trace(err)
	}
	return p.as(cmp.Or(d.user(u, o.user), o.user)), len(u.Containers) > 0, nil
}

func firstHost(all []operand) string {
	for _, o := range all {
		if o.host != "" {
			return o.text
		}
	}
	return ""
}

// completeCopies completes units, which a colon and a path follow, and files.
func (d Inside) completeCopies(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, name := range beginning(d.Names(), word) {
		names = append(names, name+":")
	}
	if len(names) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return names, cobra.ShellCompDirectiveNoSpace
}

// target is where copies go.
type target struct {
	path string
	dir  bool // it is a directory: they go into it
}

// named is where the copy of a file goes.
func (t target) named(source string) string {
	if !t.dir {
		return t.path
	}
	base := path.Base(source)
	if base == ".." || base == "/" {
		base = "."
	}
	return path.Join(t.path, base)
}

// destination looks where copies go. Several need a directory that is there; so
// does a path that ends with a slash, unless it is one source's new name.
func (p Place) destination(to string, several bool) (target, error) {
	at := p.path(to)
	st, err := p.stat(at)
	switch {
	case err == nil && st.IsDir():
		return target{at, true}, nil
	case several && err == nil:
		return target{}, errors.New("it is no directory")
	case several:
		return target{}, errors.Trace(err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return target{}, errors.Trace(err)
	case err == nil && strings.HasSuffix(to, "/"):
		return target{}, errors.New("it is no directory")
	}
	return target{path: at}, nil
}

// cannot is the error of a file that can't be copied, without the words of the
// system's calls.
func cannot(name string, err error) error {
	var of *os.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("cannot copy %s: %w", name, err)
}
