package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/terminal"
)

// makingBase are the flags of commands that make bases.
type makingBase struct {
	mirror, proxy, from string
	cas                 []string
	verbose             bool
}

// noCA is what --ca takes for no certificates, also not the host's.
const noCA = "none"

func (f *makingBase) declare(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.mirror, "apt-mirror", "", `the archive of packages, now and in the base; "default": the distribution's own`)
	fs.StringVar(&f.proxy, "proxy", "", `the proxy for HTTP, now and in the base; "none": no proxy`)
	fs.StringArrayVar(&f.cas, "ca", nil, `a file of CA certificates (PEM) that programs in the base trust; may be repeated; "none": not the host's either`)
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show what debootstrap, apt and other programs print")
}

// ofHost is what help says of the host's own settings.
const ofHost = `

Unless flags say otherwise, a base gets this host's proxy (of apt, or of the
environment), its archive if the host runs the same distribution, and its CA
certificates in /usr/local/share/ca-certificates. The command says what it takes.`

func (a baseVerbs) baseFetchCmd() *cobra.Command {
	var f makingBase
	cmd := &cobra.Command{
		Use:   "fetch BASE",
		Short: "Make a base from what its distribution publishes",
		Long: `Make a base with debootstrap: debian@11 to debian@13, and ubuntu@20.04 to
ubuntu@24.04. If debootstrap isn't installed, or with --from=image, unitd makes the
base from the distribution's image, such as docker.io/library/ubuntu:24.04, and
installs packages in it, in a separate machine. It needs root. The base has systemd,
python3, sudo, and a user "ubuntu" who may become root, as cloud images do.` + ofHost,
		Example: "  unitd base fetch debian@12\n  unitd base fetch ubuntu@24.04 --from=image\n  unitd base fetch ubuntu@24.04 --apt-mirror http://archive.example.com/ubuntu --ca corporate.pem",
		Args:    Args(1, 1, "name the base: unitd base fetch debian@12"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.makeBase(args[0], f, "is there", func(ctx context.Context, s bases.Store, how bases.How) (bases.Base, error) {
				return s.Fetch(ctx, args[0], how)
			})
		},
	}
	f.declare(cmd)
	cmd.Flags().StringVar(&f.from, "from", "", "image or debootstrap; by default, debootstrap if it is installed, else image")
	return cmd
}

func (a baseVerbs) baseAddCmd() *cobra.Command {
	var f makingBase
	cmd := &cobra.Command{
		Use:   "add BASE FILE|image:IMAGE",
		Short: "Make a base from a directory, a tarball or an image",
		Long: `Make a base from a directory, which is copied; from a tarball, such as a cloud image's
root; or from an image: "image:" and its name in a registry, or the path of an archive
or a layout. A directory or a tarball must have systemd. If an image lacks packages,
unitd installs them with apt, in a separate machine. It needs root.` + ofHost,
		Example: "  unitd base add ubuntu@24.04 noble-server-cloudimg-amd64-root.tar.xz\n  unitd base add debian@12 /srv/debian-12\n  unitd base add ubuntu@24.04 image:docker.io/library/ubuntu:24.04\n  unitd base add ubuntu@24.04 image:./ubuntu.tar",
		Args:    Args(2, 2, "name the base and what it is made from: unitd base add debian@12 DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.makeBase(args[0], f, "is there", func(ctx context.Context, s bases.Store, how bases.How) (bases.Base, error) {
				return s.Add(ctx, args[0], args[1], how)
			})
		},
	}
	f.declare(cmd)
	return cmd
}

func (a baseVerbs) baseUpdateCmd() *cobra.Command {
	var f makingBase
	cmd := &cobra.Command{
		Use:   "update BASE",
		Short: "Make a new version of a base from the same source",
		Long: `Make a new version of a base from the archive, image, directory or tarball that it was
made from. The flags that were given then still apply, unless you give others now.
Applications that are already there stay on the former version, which a later update
or prune removes once none uses it. Later applications get the new version. If the
update fails, the base stays as it is.` + ofHost,
		Example: "  unitd base update debian@12\n  unitd base update ubuntu@24.04 --proxy http://proxy.example.com:3128",
		Args:    Args(1, 1, "name the base: unitd base update debian@12"),
		RunE: func(_ *cobra.Command, args []string) error {
			err := a.makeBase(args[0], f, "is updated", func(ctx context.Context, s bases.Store, how bases.How) (bases.Base, error) {
				return s.Update(ctx, args[0], how)
			})
			if err != nil {
				return err
			}
			s, err := a.bases()
			if err != nil {
				return err
			}
			_, err = a.pruneBases(s)
			return err
		},
	}
	f.declare(cmd)
	return cmd
}

// makeBase makes a base by do, and says so, or why not.
func (a baseVerbs) makeBase(name string, f makingBase, done string, do func(context.Context, bases.Store, bases.How) (bases.Base, error)) error {
	base, err := model.ParseBase(name)
	if err != nil {
		return agent.Wrongf("%v", err)
	}
	how, err := f.how()
	if err != nil {
		return err
	}
	s, err := a.bases()
	if err != nil {
		return err
	}
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	if s.Program, err = agent.StableSelf(dir); err != nil {
		return err
	}
	images, end := deploy.ImageCache(dir)
	defer end()
	if line := terminal.NewLine(a.Err); line != nil {
		defer line.Clear()
		images.Progress = func(p oci.Progress) { line.Show(render.Harmless(p.Reference), p.Text()) }
	}
	s.Images = images
	how.Host = bases.ReadHost(a.Context(), base, os.DirFS("/"), os.Getenv)
	how.Say = func(text string) { fmt.Fprintln(a.Err, text) }
	if f.verbose {
		how.Progress = a.Err
	}
	b, err := do(a.Context(), s, how)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "base %s %s\n", b.Name, done)
	return errors.Trace(err)
}

// how is what the flags say.
func (f makingBase) how() (bases.How, error) {
	how := bases.How{From: bases.Kind(f.from), Asked: bases.Asked{Mirror: f.mirror, Proxy: f.proxy}}
	if how.From != "" && how.From != bases.Image && how.From != bases.Debootstrap {
		return how, agent.Wrongf("--from=%s: a base is fetched from image or debootstrap", f.from)
	}
	for _, address := range []struct{ flag, value, none string }{{"apt-mirror", f.mirror, bases.DefaultMirror}, {"proxy", f.proxy, bases.NoProxy}} {
		if address.value != "" && address.value != address.none && !bases.Address(address.value) {
			return how, agent.Wrongf("--%s=%s: give an address that begins with http:// or https://, or %q", address.flag, address.value, address.none)
		}
	}
	for _, file := range f.cas {
		if file == noCA {
			how.Asked.NoCAs = true
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return how, agent.Wrongf("--ca: %v", err)
		}
		ca, err := bases.ParseCA(file, text)
		if err != nil {
			return how, agent.Wrongf("--ca: %v", err)
		}
		how.Asked.CAs = append(how.Asked.CAs, ca)
	}
	if how.Asked.NoCAs && len(how.Asked.CAs) > 0 {
		return how, agent.Wrongf("--ca=%s can't be combined with another --ca", noCA)
	}
	return how, nil
}
