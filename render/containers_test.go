package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/memory"
)

func TestK122ALostAgentCountsInTheScale(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kv := memory.New(clock.WallClock)
	m, err := state.NewController(kv, clock.WallClock).AddModel(ctx, "test")
	ok(err)
	archive := []byte("web")
	sum := sha256.Sum256(archive)
	charm := model.Charm{
		Name: "web", Containers: map[string]model.ContainerSpec{"web": {Resource: "img"}},
		Resources: map[string]model.ResourceSpec{"img": {Type: model.OCIImage}},
	}
	url, err := m.AddCharmFrom(ctx, "", charm, hex.EncodeToString(sum[:]), bytes.NewReader(archive))
	ok(err)
	ok(m.Deploy(ctx, state.DeployArgs{Application: "web", Charm: url, Units: 2, Isolation: model.Isolation{Mode: model.IsolateOn}}))
	lease, err := kv.Grant(ctx, time.Hour)
	ok(err)
	for _, unit := range []model.UnitName{"web/0", "web/1"} {
		ok(m.SetDeployed(ctx, unit))
		ok(m.SetStatus(ctx, state.AgentStatus, string(unit), model.Status{Status: model.StatusIdle}))
		ok(m.SetCharmStatus(ctx, unit, model.Status{Status: model.StatusActive}))
		// What was told of containers by an agent that is lost is no news.
		told := state.ContainersDoc{Containers: []state.ContainerDoc{{Name: "web", State: state.ContainerWaiting, Fault: "it has ended"}}}
		if unit == "web/0" {
			doc, err := m.Unit(ctx, unit)
			ok(err)
			ok(m.Appear(ctx, lease, state.MachineDoc{ID: doc.Machine}))
			told.Containers[0] = state.ContainerDoc{Name: "web", State: state.ContainerRunning, Boot: "1"}
		}
		ok(m.Tell(ctx, unit, state.Report{Containers: &told}))
	}
	s, err := m.Status(ctx)
	ok(err)
	text := StatusTable(s, false, false, true, 0)
	for _, want := range []string{`(?m)^web +\w+ +1/2 +web `, `(?m)^web/0 +active +idle `, `(?m)^web/1 +unknown +lost .*agent lost, see 'unitd show-status-log web/1'$`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("there is no %s in:\n%s", want, text)
		}
	}
}
