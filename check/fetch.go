package check

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// fetched are the places where package managers keep what they have fetched.
var fetched = []string{
	"/var/cache/apt", "/var/lib/apt/lists", "/var/cache/dnf", "/var/cache/yum", "/var/cache/zypp",
	"/root/.cache/pip", "/root/.cache/uv", "/root/.npm/_cacache",
}

// keepFetched has apt keep what it has fetched, whatever the machine's other files say: images of
// containers have it thrown away.
const keepFetched = `#clear DPkg::Post-Invoke;
#clear APT::Update::Post-Invoke;
APT::Keep-Downloaded-Packages "true";
Binary::apt::APT::Keep-Downloaded-Packages "true";
`

// fetch has one unit be deployed with the network beyond this host, and one of the former version
// and of each partner, and keeps what their package managers have fetched. From then on worlds have
// that, and no way out. release removes it.
func (c *search) fetch(ctx context.Context, s Subject) (release func(), err error) {
	release = func() {}
	if c.Net || c.Params.Isolate != model.IsolateOn {
		return release, nil // others may have the host's network, which isn't to be closed
	}
	dir, err := os.MkdirTemp("", "unitd-check-fetched-")
	if err != nil {
		return release, errors.Trace(err)
	}
	release = func() { os.RemoveAll(dir) }
	if _, err := os.Stat("/etc/apt/apt.conf.d"); err == nil {
		if err := isolate.SowFile(dir, "etc/apt/apt.conf.d/zz-unitd-check", keepFetched); err != nil {
			return release, errors.Annotate(err, "cannot have machines keep packages")
		}
	}
	params := c.Params
	params.Machine = dir
	p, err := newPlayer(ctx, s, params, c.Trace)
	if err != nil {
		return release, err
	}
	defer p.close() // what it has to say of guarantees is unitd's, and no finding
	w := World{Subject: s}
	firsts := [][]string{w.deploy(1)}
	if s.Former != "" {
		firsts = append(firsts, w.formerDeploy())
	}
	for _, e := range s.stubs() {
		if partner, ok := s.Partners[e.Name]; ok {
			firsts = append(firsts, []string{"deploy " + quoted(partner.Dir) + " " + e.Stub(), "settle"})
		}
	}
	for i, lines := range firsts {
		began := time.Now()
		err := p.play(nil, lines)
		if i == 0 && err == nil { // what hangs later needn't be waited for so long
			c.Params.Patience = min(c.Params.Patience, max(usualPatience, 2*time.Since(began)))
		}
		var f *failed
		if errors.As(err, &f) { // one that can't be deployed is told of later
			if err = nil; i == 0 {
				err = s.lasting(f)
			}
		}
		if err != nil {
			return release, err
		}
		c.ranOpen = c.ranOpen || f == nil && i == 0
		n, err := p.gather(dir)
		if c.report.Fetched += n; err != nil {
			c.report.Odd = append(c.report.Odd, "what the first unit has fetched can't be kept, so all units reach the network: "+err.Error())
			return release, nil
		}
	}
	c.Params.Machine, c.Params.Closed, c.report.Closed = dir, true, true
	return release, nil
}

// unsettled begins what a script says of a world in which something has been left to do for too long.
const unsettled = "not settled after "

// lasting is the error of a deployment that takes too long to be checked; nil: it has failed otherwise.
func (s Subject) lasting(f *failed) error {
	why, _, _ := strings.Cut(f.why, ": ")
	if !strings.HasPrefix(why, unsettled) {
		return nil
	}
	return errors.Errorf("cannot check %s: it is %s; give it more time with --for", s.Charm.Name, why)
}

// gather adds to a seed what the machines of the player's world have fetched.
func (p *player) gather(seed string) (bytes int64, err error) {
	dirs, err := filepath.Glob(filepath.Join(p.data, "cells", "*", "unit-*"))
	if err != nil {
		return 0, errors.Trace(err)
	}
	for _, dir := range dirs {
		n, err := isolate.Gather(dir, seed, fetched)
		if err != nil {
			return bytes, errors.Trace(err)
		}
		bytes += n
	}
	return bytes, nil
}
