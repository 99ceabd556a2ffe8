package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/memory"
)

// maxGrowth is how many times as long a status may take for ten times as many units.
const maxGrowth = 20

// TestAStatusGrowsInProportionToTheModel: it takes about ten times as long for ten times
// as many units, from the question to the answer.
func TestAStatusGrowsInProportionToTheModel(t *testing.T) {
	t.Parallel()
	few, many := modelOfUnits(t, 100), modelOfUnits(t, 1000)
	var small, large time.Duration
	// By turns, as other processes slow down both; and more often where they may have
	// slowed down the one each time.
	for turn := 0; turn < 5 || large > maxGrowth*small && turn < 40; turn++ {
		small, large = leastOf(t, small, few), leastOf(t, large, many)
	}
	if large > maxGrowth*small {
		t.Errorf("a status of 100 units takes %v, one of 1,000 %v: that is more than %d times", small, large, maxGrowth)
	}
}

// modelOfUnits has ten applications with so many units together, each with a machine.
func modelOfUnits(t *testing.T, units int) *state.Controller {
	t.Helper()
	ctx := context.Background()
	s := memory.New(clock.WallClock)
	t.Cleanup(func() { s.Close() })
	c := state.NewController(s, clock.WallClock)
	m, err := c.AddModel(ctx, defaultModel)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(nil)
	url, err := m.AddCharm(ctx, model.Charm{Name: "app"}, hex.EncodeToString(sum[:]), strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		name := fmt.Sprintf("app%d", i)
		if err := m.Deploy(ctx, state.DeployArgs{Application: name, Charm: url}); err != nil {
			t.Fatal(err)
		}
		for range units / 10 {
			if _, err := m.AddUnits(ctx, name, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

func leastOf(t *testing.T, least time.Duration, c *state.Controller) time.Duration {
	t.Helper()
	start := time.Now()
	out, _, err := answerStatus(t.Context(), c, func() machine.Word { return machine.Word{} }, `{"Model":"default","Format":"json","UTC":true}`)
	took := time.Since(start)
	if err != nil || !bytes.Contains(out, []byte(`"app9/9"`)) {
		t.Fatalf("it shows %.100q, %v", out, err)
	}
	if least == 0 || took < least {
		return took
	}
	return least
}
