package cli

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"github.com/spf13/pflag"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/check"
	"github.com/unitd/unitd/check/web"
)

// checkPageFlags say where a check's page and its badge go.
type checkPageFlags struct {
	report string
	badge  string
}

func (f *checkPageFlags) declare(fs *pflag.FlagSet) {
	fs.StringVar(&f.report, "report", "", "write the report to this file as an HTML page")
	fs.StringVar(&f.badge, "badge", "", "write the result to this file as a badge, an SVG image for a README")
}

// reported shows and writes what a check has found.
func (a testVerbs) reported(report *check.Report, path string, from former, f checkFlags) error {
	fresh, err := withoutKnown(report, f.baseline)
	if err != nil {
		return err
	}
	if err := writeForms(fresh, path, from.about(), f); err != nil {
		return errors.Annotate(err, "cannot write the report")
	}
	if f.json {
		text, err := report.JSON() // all of it: it may be a baseline
		if err != nil {
			return errors.Trace(err)
		}
		a.printf("%s", text)
	} else if err := fresh.Write(a.Out); err != nil {
		return errors.Trace(err)
	}
	if known := len(fresh.Known); known > 0 {
		a.Note("findings that are in the baseline: %d", known)
	}
	if f.keep != "" {
		former := ""
		if fresh.NeedsFormer() {
			if former, err = from.keep(f.keep); err != nil {
				return err
			}
		}
		names, err := fresh.Keep(f.keep, former)
		if err != nil {
			return err
		}
		for _, name := range names {
			a.Note("wrote %s", filepath.Join(f.keep, name))
		}
	}
	if len(fresh.Findings) > 0 {
		return Exit(Failed)
	}
	return nil
}

// withoutKnown is the report with the findings of the baseline marked as known; "": there is no
// baseline.
func withoutKnown(report *check.Report, baseline string) (*check.Report, error) {
	if baseline == "" {
		return report, nil
	}
	former, err := readBaseline(baseline)
	if err != nil {
		return nil, err
	}
	return report.New(former), nil
}

// readBaseline reads an earlier report; of none there is an empty one.
func readBaseline(path string) (former check.Report, err error) {
	if path == "" {
		return former, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return former, errors.Annotate(err, "cannot read the baseline")
	}
	return former, errors.Annotatef(json.Unmarshal(b, &former), "%s is no report of check --json", path)
}

// knownCauses has a check that ends at the first finding go on at what the baseline has.
func knownCauses(o *check.Options, baseline string) error {
	former, err := readBaseline(baseline)
	for _, f := range former.Findings {
		o.Known = append(o.Known, f.Cause)
	}
	return err
}

// writeForms writes a report to the files that flags name.
func writeForms(r *check.Report, path, former string, f checkFlags) error {
	version := agent.Version()
	for _, form := range []struct {
		path string
		make func() ([]byte, error)
	}{
		{f.junit, r.JUnit},
		{f.sarif, func() ([]byte, error) { return r.SARIF(version, seenFromHere(path), mainFile(path)) }},
		{f.page.report, func() ([]byte, error) { return web.Page(r, web.About{Version: version, Former: former}), nil }},
		{f.page.badge, func() ([]byte, error) { return web.Badge(r), nil }},
	} {
		if form.path == "" {
			continue
		}
		text, err := form.make()
		if err != nil {
			return errors.Trace(err)
		}
		if err := os.WriteFile(form.path, text, 0o666); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// mainFile is the file of a charm that stands for all of it.
func mainFile(charm string) string {
	for _, name := range []string{"src/charm.py", "dispatch", "charmcraft.yaml"} {
		if _, err := os.Stat(filepath.Join(charm, name)); err == nil {
			return name
		}
	}
	return "metadata.yaml"
}

// besideCharm: what --keep writes deploys the charm from the directory above its own.
func besideCharm(charm, keep string) error {
	if keep == "" {
		return nil
	}
	if info, err := os.Stat(charm); err != nil {
		return nil // that is said elsewhere
	} else if !info.IsDir() {
		return Usagef("--keep: what is kept deploys the charm from its directory, and %s is a file", charm)
	}
	above, err := filepath.Abs(filepath.Join(keep, ".."))
	if err != nil {
		return errors.Trace(err)
	}
	there, err := os.Stat(above)
	here, cerr := os.Stat(charm)
	if err == nil && cerr == nil && os.SameFile(there, here) {
		return nil
	}
	return Usagef("--keep: %s isn't in the charm's directory, from which what is kept deploys the charm: use %s", keep, filepath.Join(charm, filepath.Base(keep)))
}

// seenFromHere is a charm's path as annotations want it: below the directory that somebody is in,
// as CI is at the top of a repository.
func seenFromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return filepath.ToSlash(path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		if rel, err := filepath.Rel(here, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}
