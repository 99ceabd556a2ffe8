package etcd

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/juju/errors"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

const (
	// patience is how long one request goes on while etcd doesn't answer, as
	// where it elects a leader; attempt is when another member is asked.
	patience = 20 * time.Second
	attempt  = 5 * time.Second
	// connecting is how long Open waits for the first answer.
	connecting = 10 * time.Second
	// knocking is how long it waits for anybody to be there.
	knocking = 3 * time.Second
	// again is the pause before a request is made anew.
	again = 50 * time.Millisecond

	// keepRevisions is how much history watches can go back; trimEvery is how
	// often, in revisions, what is older is dropped.
	keepRevisions = 100_000
	trimEvery     = 1_000
)

// Format is the layout of keys that this program writes. It reads former ones: in
// format 1 no document has a checksum, see package state, and up to format 2 each
// status of a history is a document, and relations count their units. What this
// package does with keys is the same in all of them.
const Format = "3"

// Options say where the store is. Endpoints and Prefix are needed.
type Options struct {
	Endpoints []string // "host:port"
	// Prefix is where its keys are, without a slash at either end; what it is
	// made of are letters, digits and "._-/".
	Prefix string
	// TLS is nil for connections that aren't encrypted.
	TLS                *tls.Config
	Username, Password string       // of etcd's own users; empty: none
	Log                *slog.Logger // gets what goes wrong in the background; nil: nowhere

	// Former is asked before a store of a former format is given that of this
	// program, by which earlier ones know it no more; its error is that of Open.
	// Nil: nothing speaks against that.
	Former func(store.Reader) error

	files map[string]string // the parameters of the URL, for URL
}

// Store is a store in etcd. It is a store.Store.
type Store struct {
	client *clientv3.Client
	prefix string // with a slash at its end
	names  string // of the endpoints, for people
	log    *slog.Logger
	former func(store.Reader) error // Options.Former
	life   *staged.Life

	streams atomic.Int64 // the number of the newest stream of watches
}

var _ store.Store = (*Store)(nil)

// Open connects to the store, and makes it if there is none. Errors: NotValid
// for options that can't be, and for a store of a newer unitd.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.validate(); err != nil {
		return nil, errors.Trace(err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	names := strings.Join(o.Endpoints, ",")
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
	}
	var endpoints []string
	for _, e := range o.Endpoints {
		endpoints = append(endpoints, scheme+e)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, TLS: o.TLS, Username: o.Username, Password: o.Password,
		DialTimeout: connecting, DialKeepAliveTime: 6 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: again, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: attempt,
		})},
		MaxCallSendMsgSize: 2 << 20, MaxCallRecvMsgSize: math.MaxInt32, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, errors.Annotatef(readable(err, names), "cannot open the store")
	}
	s := &Store{client: client, prefix: o.Prefix + "/", names: names, log: o.Log, former: o.Former, life: staged.NewLife()}
	if err = s.knock(ctx, o.Endpoints); err == nil {
		err = s.settle(ctx)
	}
	if err != nil {
		s.Close()
		return nil, errors.Annotatef(err, "cannot open the store")
	}
	return s, nil
}

// knock is the error of a store where nobody is: etcd's client would go on
// trying.
func (s *Store) knock(ctx context.Context, endpoints []string) error {
	for _, e := range endpoints {
		c, err := (&net.Dialer{Timeout: knocking}).DialContext(ctx, "tcp", e)
		if err == nil {
			return errors.Trace(c.Close())
		}
	}
	if err := ctx.Err(); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(readable(context.DeadlineExceeded, s.names))
}

// settle reads which layout the store has, and says so where it is new. One of
// a former layout gets the number of this one, so that no older program opens
// it any more, from who may do that: nobody else can open it before.
func (s *Store) settle(ctx context.Context) error {
	key := s.prefix + "format"
	resp, err := requestFor(ctx, s, connecting, func(ctx context.Context) (*clientv3.GetResponse, error) { return s.client.Get(ctx, key) })
	if err != nil {
		return errors.Trace(err)
	}
	was := int64(0)
	if len(resp.Kvs) > 0 {
		switch got := string(resp.Kvs[0].Value); got {
		case Format:
			return nil
		case "1", "2":
			if was = resp.Kvs[0].ModRevision; s.former != nil {
				if _, err := s.View(ctx, s.former); err != nil {
					return errors.Trace(err)
				}
			}
		default:
			return errors.NewNotValid(nil, "the store "+s.prefix+" was made by a newer unitd (format "+got+", this one knows "+Format+")")
		}
	}
	_, err = requestFor(ctx, s, connecting, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", was)).Then(clientv3.OpPut(key, Format)).Commit()
	})
	if was > 0 && errors.Is(err, errors.Unauthorized) {
		return errors.NewNotValid(nil, "the store "+s.prefix+" has a former format, and this user may not give it that of this unitd: "+
			"start the agent that has the models first, or open the store as a user who may write "+key)
	}
	return errors.Trace(err)
}

// Close is part of store.Store.
func (s *Store) Close() error {
	if !s.life.End(func() {}) {
		return nil
	}
	if err := s.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return errors.Annotate(err, "cannot close the store")
	}
	return nil
}

// View is part of store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer leave()
	r := newReader(ctx, s)
	if err := fn(r); err != nil {
		return 0, err
	}
	if err := r.begin(); err != nil {
		return 0, errors.Annotate(err, "cannot read the store")
	}
	return r.rev, nil
}

// Grant is part of store.Store. The time to live is in whole seconds, rounded
// up.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer leave()
	seconds := max(int64((ttl+time.Second-1)/time.Second), 1)
	resp, err := s.requestLease(ctx, seconds)
	if err != nil {
		return 0, errors.Annotate(err, "cannot make a lease")
	}
	return store.LeaseID(resp.ID), nil
}

// requestLease may leave a lease behind that nobody knows, if an answer is
// lost. It ends by itself.
func (s *Store) requestLease(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	// etcd takes as long as it can count, which is less than 300 years.
	seconds = min(seconds, 9_000_000_000)
	return request(ctx, s, func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) { return s.client.Grant(ctx, seconds) })
}

// KeepAlive is part of store.Store.
func (s *Store) KeepAlive(ctx context.Context, id store.LeaseID) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	if id == 0 {
		return errors.NotFoundf("lease %d", id)
	}
	_, err = request(ctx, s, func(ctx context.Context) (*clientv3.LeaseKeepAliveResponse, error) {
		return s.client.KeepAliveOnce(ctx, clientv3.LeaseID(id))
	})
	if leaseIsGone(err) {
		return errors.NotFoundf("lease %d", id)
	}
	return errors.Annotatef(err, "cannot keep lease %d alive", id)
}

// Revoke is part of store.Store.
func (s *Store) Revoke(ctx context.Context, id store.LeaseID) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	if id == 0 {
		return nil
	}
	_, err = request(ctx, s, func(ctx context.Context) (*clientv3.LeaseRevokeResponse, error) {
		return s.client.Revoke(ctx, clientv3.LeaseID(id))
	})
	if leaseIsGone(err) {
		return nil
	}
	return errors.Annotatef(err, "cannot end lease %d", id)
}

// Compact is part of store.Store. The history is that of the whole cluster;
// where etcd has users, only its root may do this.
func (s *Store) Compact(ctx context.Context, rev int64) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	r := newReader(ctx, s)
	if err := r.begin(); err != nil {
		return errors.Annotate(err, "cannot compact the store")
	}
	return errors.Annotate(s.compact(ctx, min(rev, r.rev)), "cannot compact the store")
}

func (s *Store) compact(ctx context.Context, rev int64) error {
	if rev <= 0 {
		return nil
	}
	_, err := request(ctx, s, func(ctx context.Context) (*clientv3.CompactResponse, error) { return s.client.Compact(ctx, rev) })
	if isCompacted(err) {
		return nil // that much was forgotten before
	}
	return errors.Trace(err)
}

// trim drops old history when it is time. That it can't, since the user may
// not, is no error: then it is a matter of etcd's own settings.
func (s *Store) trim(rev int64) {
	if rev%trimEvery != 0 || rev <= keepRevisions {
		return
	}
	ctx, leave, err := s.life.Enter(s.life.Context())
	if err != nil {
		return
	}
	go func() {
		defer leave()
		if err := s.compact(ctx, rev-keepRevisions); err != nil {
			s.log.Debug("cannot compact the store", "err", err)
		}
	}()
}
