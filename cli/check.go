package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/check"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/workload"
)

// checkFlags are the flags of check.
type checkFlags struct {
	time     time.Duration
	from     string
	seed     uint64
	parallel int
	only     []string
	failFast bool
	net      bool
	explain  string
	isolate  string
	resource []string
	json     bool
	junit    string
	sarif    string
	page     checkPageFlags
	keep     string
	baseline string
	resume   string
	verbose  bool
	world    checkWorldFlags
}

func (a testVerbs) checkCmd() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [CHARM]",
		Short: "Find out which promises a charm breaks",
		Long: `Check whether a charm keeps the promises that a charm has to keep. You needn't
write any tests: check makes a world for the charm, kills its hooks, makes
relations in different orders, upgrades it, and gives it wrong options. For each
promise that the charm breaks, it prints the shortest scenario that breaks it.
--keep writes these scenarios as tests.

Hooks run again and again, and are killed. So each unit gets a machine of its
own on this host, for which you have to be root on Linux. With --isolate=off,
hooks run on the host itself: use this only where there is nothing to lose.`,
		Example: `  unitd check
  unitd check ./my-charm --for 10m
  unitd check ./my-charm --from ./my-charm-1.0 --only upgrade,killed
  unitd check --explain killed`,
		Args: Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.explain != "" {
				return a.explainPromise(f.explain)
			}
			defer a.endWithTerminal()()
			return a.check(append(args, ".")[0], f)
		},
	}
	fs := cmd.Flags()
	fs.DurationVar(&f.time, "for", 5*time.Minute, "how long to try new scenarios once the world is made and the life of a unit is known")
	fs.StringVar(&f.from, "from", "", "a former version of the charm, to upgrade from (by default, from its git history)")
	fs.Uint64Var(&f.seed, "seed", 0, "seed for random choices; the same seed makes the same ones (0: different each time)")
	fs.IntVar(&f.parallel, "parallel", 0, "how many worlds to use at once (0: one for each processor)")
	fs.StringSliceVar(&f.only, "only", nil, "check only these promises")
	fs.BoolVar(&f.failFast, "fail-fast", false, "stop at the first finding that isn't in the baseline")
	fs.StringVar(&f.explain, "explain", "", "explain this promise, and check nothing")
	fs.StringVar(&f.isolate, "isolate", model.IsolateOn, "isolate units, as deploy does: "+strings.Join(model.SharedRootModes(), ", "))
	fs.BoolVar(&f.net, "net", false, "let all units reach the network beyond this host, not only the first one")
	fs.StringArrayVar(&f.resource, "resource", nil, "a resource as NAME=VALUE, as for deploy")
	f.world.declare(fs)
	fs.StringVar(&f.keep, "keep", "", "write each finding into this directory, as a script for unitd test and as a test for pytest")
	fs.StringVar(&f.junit, "junit", "", "write the report to this file as JUnit XML, for CI")
	fs.StringVar(&f.sarif, "sarif", "", "write the findings to this file as SARIF, for annotations of a pull request")
	f.page.declare(fs)
	fs.StringVar(&f.baseline, "baseline", "", "an earlier report of --json; the findings in it don't count as new, and don't fail the check")
	fs.StringVar(&f.resume, "resume", "", "go on from this file if it's there, and write to it how far the check has come")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show each command and how long it took")
	fs.BoolVar(&f.json, "json", false, "print the report as JSON")
	return cmd
}

func (a testVerbs) explainPromise(name string) error {
	for _, p := range check.Promises() {
		if p.Name == name {
			a.printf("%s: %s\n%s\ndocs/charm-promises.md shows code that breaks it, and code that keeps it.\n", p.Name, p.Title, p.Why)
			return nil
		}
	}
	return Usagef("--explain: there is no promise %q; there are %s", name, strings.Join(promiseNames(), ", "))
}

func promiseNames() (names []string) {
	for _, p := range check.Promises() {
		names = append(names, p.Name)
	}
	return names
}

func (a testVerbs) check(path string, f checkFlags) error {
	for _, name := range f.only {
		if !check.Known(name) {
			return Usagef("--only: there is no promise %q; there are %s", name, strings.Join(promiseNames(), ", "))
		}
	}
	if err := besideCharm(path, f.keep); err != nil {
		return err
	}
	o := check.Options{For: f.time, Seed: f.seed, Parallel: f.parallel, Promises: f.only, FailFast: f.failFast, Net: f.net}
	if o.Seed == 0 {
		o.Seed = rand.Uint64N(1<<32) + 1
	}
	if err := knownCauses(&o, f.baseline); err != nil {
		return err
	}
	if err := a.isolateCheck(&o, f); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "unitd-check-")
	if err != nil {
		return errors.Trace(err)
	}
	defer os.RemoveAll(work)
	from, err := a.formerOf(path, f.from, f.only, work)
	if err != nil {
		return err
	}
	s, release, err := a.subject(path, &from, f, work)
	if err != nil {
		return err
	}
	defer release()
	o.Tell = func(line string) { a.Note("%s", line) }
	if f.verbose {
		o.Trace = func(line string, took time.Duration) { a.Note("%6.2fs  %s", took.Seconds(), line) }
	}
	if err := a.resumeCheck(&o, s, f); err != nil {
		return err
	}
	report, err := check.Check(a.Context(), s, o)
	if report == nil {
		return err
	}
	if err := keepProgress(report, f); err != nil {
		return err
	}
	reported := a.reported(report, path, from, f)
	if err != nil {
		return err
	}
	return reported
}

// isolateCheck says how the worlds of a check are. Without isolation there is none, unless
// somebody has said so.
func (a testVerbs) isolateCheck(o *check.Options, f checkFlags) error {
	dir, err := agent.DataDirPath()
	if err != nil {
		return err
	}
	if o.Params.Unitd, err = agent.StableSelf(dir); err != nil {
		return fmt.Errorf("cannot check a charm: %w", err)
	}
	o.Params.Bases = bases.Here(dir).Dir
	i, err := deploy.Isolate{Mode: f.isolate}.Isolation()
	if err != nil {
		return err
	}
	if o.Params.Isolate = i.Mode; i.Mode == "" || i.Mode == model.IsolateOff {
		o.Params.Isolate = model.IsolateOff
		return nil
	}
	return errors.Annotate(a.checkScripts(dir, i, "with --isolate=off hooks run on this host itself, again and again"), "cannot check a charm")
}

// resourceHere is NAME=VALUE of a resource as it is from any directory: a path, also behind
// oci-archive:, is made absolute.
func resourceHere(of string) string {
	name, value, _ := strings.Cut(of, "=")
	kind, path := "", value
	if k, p, ok := strings.Cut(value, ":"); ok && strings.HasSuffix(k, "archive") {
		kind, path = k+":", p
	}
	if _, err := os.Stat(path); err != nil {
		return of
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return name + "=" + kind + path
}

// packed reads a charm and says where it can be deployed from: as it is, or, if it has to be built,
// from a file that it is packed into. hold, unless it is nil, keeps what it was built of.
func (a testVerbs) packed(path, to string) (charm *charmdir.Charm, dir string, hold *charmbuild.Hold, err error) {
	if charm, err = charmdir.Read(path); err != nil {
		return nil, "", nil, err
	}
	if charm.Project == nil {
		path, err = filepath.Abs(path)
		return charm, path, nil, errors.Trace(err)
	}
	if hold, err = a.Build(charm, charmbuild.Place{}); err != nil {
		return nil, "", nil, err
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, "", hold, errors.Trace(err)
	}
	_, err = charm.Archive(file)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return charm, to, hold, errors.Annotate(err, "cannot pack the charm")
}

// subject reads the charm, and makes what it lacks to run. from is what it is upgraded from, and
// is nothing any more if that is a commit which is no charm that can be built.
func (a testVerbs) subject(path string, from *former, f checkFlags, work string) (s check.Subject, release func(), err error) {
	var holds []*charmbuild.Hold
	release = func() {
		for _, h := range holds {
			h.Release()
		}
	}
	ready := func(path, name string) (*charmdir.Charm, string, error) {
		charm, dir, hold, err := a.packed(path, filepath.Join(work, name+".charm"))
		if hold != nil {
			holds = append(holds, hold)
		}
		return charm, dir, err
	}
	charm, dir, err := ready(path, "charm")
	if err != nil {
		return s, release, err
	}
	s = check.Subject{Charm: charm.Charm, Dir: dir}
	if !s.HasHost() {
		return s, release, errors.NotSupportedf("a check of %s, a subordinate without an endpoint of scope container,", charm.Name)
	}
	if _, err := workload.FindPebble(); errors.Is(err, errors.NotFound) && len(charm.Containers) > 0 {
		a.Note("%v: containers start only from images that have one", err)
	}
	if err := a.readyFormer(from, &s, ready); err != nil {
		return s, release, err
	}
	var given []string
	for _, r := range f.resource {
		given = append(given, resourceHere(r))
	}
	s.Resources(given)
	if err := f.world.read(&s, path, ready); err != nil {
		return s, release, err
	}
	paths, flags := f.world.identity()
	if f.from != "" {
		paths = append(paths, f.from)
	}
	flags = append(flags, s.Commit)
	flags = append(append(flags, s.Deploy...), f.isolate, fmt.Sprint(f.net), agent.Version())
	if err := s.Identify(append([]string{path}, paths...), flags, []string{f.resume, f.junit, f.sarif, f.page.report, f.page.badge, f.baseline, f.keep}); err != nil {
		return s, release, err
	}
	return s, release, errors.Trace(s.ReadConstants(path))
}
