package uniter

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// Trouble that comes back after the agent had nothing to do is logged again.
func TestTroubleThatComesBackIsLoggedAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed := make(chan struct{}, 1)
	var log bytes.Buffer
	looks := 0
	failed := resolver.Local{Charm: "c", Run: 1, Current: &resolver.Current{Hook: hooks.Info{Kind: hooks.Install}, Run: 1, Step: resolver.Failed}}
	a := &agent{local: failed, Config: Config{
		Clock: clock.WallClock, Log: slog.New(slog.NewTextHandler(&log, nil)), Hope: func() <-chan struct{} { return nil },
		Changed: changed,
		Report: func(context.Context, Report) {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
		Observe: func(context.Context, resolver.Local) (resolver.Remote, error) {
			switch looks++; looks {
			case 1, 2, 4:
				return resolver.Remote{}, errors.New("it is away")
			case 5:
				cancel()
			}
			return resolver.Remote{Life: model.Alive, Charm: "c"}, nil
		},
	}}
	_ = a.loop(ctx)
	if n := strings.Count(log.String(), "it is away"); n != 2 {
		t.Errorf("of two troubles the log tells of %d: %s", n, log.String())
	}
}
