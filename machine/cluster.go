package machine

import (
	"bytes"
	"context"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/kube"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// authorityFile is, in a model's directory, by what its units' API servers are
// known: a certificate and its key.
const authorityFile = "kubernetes.pem"

// cluster is what the Kubernetes API servers of a model's units have in common: the
// store's documents, what the units' agents know of their pods, and by whom
// the servers are certified. It is kube.Objects, and safe for use by many goroutines.
type cluster struct {
	model *state.Model
	disk  durable.Disk
	dir   string // the model's
	node  func() string
	api   *kube.Cluster

	certifying sync.Mutex // held by who reads, or makes, the authority

	mu   sync.Mutex
	pods map[model.UnitName]func() podFacts
	news chan struct{} // closed when a pod has changed
}

func newCluster(m *state.Model, disk durable.Disk, dir string, c clock.Clock, node func() string) *cluster {
	one := &cluster{model: m, disk: disk, dir: dir, node: node, pods: map[model.UnitName]func() podFacts{}, news: make(chan struct{})}
	one.api = kube.NewCluster(one, c)
	return one
}

// enter has a unit's pod known until the end is called.
func (c *cluster) enter(unit model.UnitName, facts func() podFacts) (end func()) {
	c.mu.Lock()
	c.pods[unit] = facts
	c.mu.Unlock()
	c.changed()
	return func() {
		c.mu.Lock()
		delete(c.pods, unit)
		c.mu.Unlock()
		c.changed()
	}
}

// changed tells who watches that a pod has changed.
func (c *cluster) changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.news)
	c.news = make(chan struct{})
}

func (c *cluster) now() (pods map[model.UnitName]func() podFacts, news <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.pods), c.news
}

// View implements kube.Objects.
func (c *cluster) View(ctx context.Context) (kube.View, error) {
	has, err := c.model.Cluster(ctx)
	if err != nil {
		return kube.View{}, errors.Trace(err)
	}
	pods, _ := c.now()
	facts := map[model.UnitName]podFacts{}
	for unit, of := range pods {
		facts[unit] = of()
	}
	v := kube.View{Rev: has.Rev, Model: kubeModel(has, facts, c.node())}
	for _, o := range has.Objects {
		v.Records = append(v.Records, kube.Record{Key: o.Key, Value: o.Value, Owner: o.Application, Rev: o.Rev})
	}
	return v, nil
}

// Put implements kube.Objects.
func (c *cluster) Put(ctx context.Context, rec kube.Record) error {
	o := state.Object{Key: rec.Key, Application: rec.Owner, Value: rec.Value, Rev: rec.Rev}
	if strings.HasPrefix(rec.Key, "statefulsets/") {
		o.Template = &rec.Template
	}
	switch err := c.model.PutObject(ctx, o); {
	case errors.Is(err, state.ErrObjectChanged):
		return kube.ErrConflict
	case errors.Is(err, store.ErrTooLarge):
		return kube.ErrTooLarge
	case err != nil:
		return errors.Trace(err)
	}
	return errors.Trace(c.prune(ctx))
}

// prune deletes what was said of pods that are gone; what another one has written
// meanwhile stays.
func (c *cluster) prune(ctx context.Context) error {
	v, err := c.View(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	for _, rec := range kube.Stale(v) {
		err := c.model.PutObject(ctx, state.Object{Key: rec.Key, Application: rec.Owner, Rev: rec.Rev})
		if err != nil && !errors.Is(err, state.ErrObjectChanged) && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
	}
	return nil
}

// Watch implements kube.Objects.
func (c *cluster) Watch(ctx context.Context, from int64) (<-chan int64, error) {
	changes, err := c.model.Watch(ctx, from)
	if err != nil {
		return nil, errors.Trace(err)
	}
	out := make(chan int64, 1)
	_, news := c.now() // before anyone looks, so that no news is missed
	out <- from        // pods may have changed since
	go func() {
		defer close(out)
		for {
			rev := from
			select {
			case <-news:
				_, news = c.now()
			case change, ok := <-changes:
				switch {
				case !ok:
					return
				case change.Status && !change.Objects && !change.Resync:
					continue
				}
				rev = change.Rev
			}
			select {
			case out <- rev:
			default: // who hasn't read the last one looks again anyway
			}
		}
	}()
	return out, nil
}

// authority is by whom the model's servers are certified; it is made the first time.
func (c *cluster) authority() (kube.Authority, error) {
	c.certifying.Lock()
	defer c.certifying.Unlock()
	path := filepath.Join(c.dir, authorityFile)
	b, err := os.ReadFile(path)
	if err == nil {
		var a kube.Authority
		for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" {
				a.Cert = pem.EncodeToMemory(block)
			} else {
				a.Key = pem.EncodeToMemory(block)
			}
		}
		if _, err := a.Serve(time.Now(), loopback); err == nil {
			return a, nil
		} // damaged: units are given another one
	}
	a, err := kube.NewAuthority(time.Now()) // clients go by the host's clock
	if err != nil {
		return a, errors.Trace(err)
	}
	err = c.disk.ReplaceFile(path, bytes.Join([][]byte{a.Cert, a.Key}, nil), 0o600)
	return a, errors.Annotate(err, "cannot keep the authority of the Kubernetes API")
}
