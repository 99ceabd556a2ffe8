package machine

import (
	"context"
	"time"
)

// round gets what to call when the round is over that is due after d; see
// Config.Rounds.
func (c Config) round(ctx context.Context, d time.Duration) <-chan func() {
	if c.Rounds != nil {
		return c.Rounds(ctx, d)
	}
	due := make(chan func(), 1)
	c.Clock.AfterFunc(d, func() { due <- func() {} })
	return due
}
