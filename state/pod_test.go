package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// pods are those of the units of web, "0:1 1:0": each unit's number, and that of the
// pod that it is to have.
func (w *world) pods() string {
	w.Helper()
	units, err := w.Units(w.ctx)
	w.ok(err)
	var all []string
	for _, u := range units {
		p, err := w.Pod(w.ctx, u.Name)
		w.ok(err)
		all = append(all, fmt.Sprintf("%d:%d", u.Name.Number(), p.Wanted.Number))
	}
	return strings.Join(all, " ")
}

// rollOut is one turn; the pods are to be such then.
func (w *world) rollOut(waits bool, want string) {
	w.Helper()
	got, err := w.RollOut(w.ctx, "web")
	w.ok(err)
	if pods := w.pods(); got != waits || pods != want {
		w.Errorf("the pods are %s, waits: %t; not %s, %t", pods, got, want, waits)
	}
}

// heldUp compares who waits for whom to have another pod: "web/0 after web/1".
func (w *world) heldUp(want string) {
	w.Helper()
	s, err := w.Status(w.ctx)
	w.ok(err)
	var all []string
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if u.After != "" {
				all = append(all, fmt.Sprintf("%s after %s", u.Name, u.After))
			}
		}
	}
	if got := strings.Join(all, ", "); got != want {
		w.Errorf("it is %q who waits, not %q", got, want)
	}
}

func (w *world) giveImage(reference string) {
	w.Helper()
	w.ok(w.SetResources(w.ctx, "web", map[string]state.Content{"img": imageOf(reference, "hunter2")}))
}

// TestUnitsHaveOtherPodsOneAfterTheOther is K-110 and K-111 as the model has them:
// the highest number first, and the next one when that is ready.
func TestUnitsHaveOtherPodsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploySidecar(3)
	w.takeOn("web/0", "web/1", "web/2")
	w.rollOut(false, "0:0 1:0 2:0")
	for _, u := range []model.UnitName{"web/0", "web/1", "web/2"} {
		w.ok(w.TellPod(w.ctx, u, 0, true))
	}
	w.giveImage("a:1")
	w.rollOut(true, "0:0 1:0 2:1")
	w.rollOut(true, "0:0 1:0 2:1")

	// Before anybody has begun to make a pod it may become another one.
	w.giveImage("a:0")
	w.rollOut(true, "0:0 1:0 2:1")
	first, err := w.Pod(w.ctx, "web/2")
	w.ok(err)
	if got := first.Wanted.Images["img"].Reference; got != "a:0" {
		t.Errorf("it is to have image %s", got)
	}
	w.ok(w.TellPod(w.ctx, "web/2", 1, false))
	w.rollOut(true, "0:0 1:0 2:1")

	// What is wrong may be what another image mends.
	w.giveImage("a:2")
	w.rollOut(true, "0:0 1:0 2:2")
	w.heldUp("web/0 after web/2, web/1 after web/2")
	w.ok(w.TellPod(w.ctx, "web/2", 2, true))
	w.heldUp("")
	w.rollOut(true, "0:0 1:1 2:2")
	w.heldUp("web/0 after web/1")
	w.ok(w.TellPod(w.ctx, "web/1", 1, true))
	w.ok(w.TellPod(w.ctx, "web/2", 2, false))
	w.rollOut(true, "0:0 1:1 2:2")

	// A unit on its way out holds nobody up, and a new one has all that is new.
	w.ok(w.SetScale(w.ctx, "web", 2, state.Orderly))
	w.rollOut(true, "0:1 1:1 2:2")
	w.rollOut(false, "0:1 1:1 2:2")
	w.end("web/2")
	w.ok(w.SetScale(w.ctx, "web", 3, state.Orderly))
	w.rollOut(false, "0:1 1:1 2:0")

	// Another charm is another pod, and so is the former one.
	other := sidecar()
	other.Options = map[string]model.ConfigOption{"x": {Type: "string"}}
	w.ok(w.SetCharm(w.ctx, "web", w.addCharm(other), false))
	w.rollOut(true, "0:1 1:1 2:1")
	p, err := w.Pod(w.ctx, "web/2")
	w.ok(err)
	had, known := p.Had()
	if !known || had.Charm == p.Wanted.Charm || had.Images["img"].Reference != "a:2" || p.Wanted.Images["img"].Reference != "a:2" {
		t.Errorf("it is %+v, after %+v", p, had)
	}

	if waits, err := w.RollOut(w.ctx, "nosuch"); waits || err != nil {
		t.Errorf("of none: %t, %v", waits, err)
	}
	if err := w.TellPod(w.ctx, "web/7", 0, true); !errors.Is(err, errors.NotFound) {
		t.Errorf("of none: %v", err)
	}
}

// TestAPodKeepsTheImagesThatItWasMadeOf: what the application was given since is no
// matter of a unit whose turn it isn't, nor of one that still has the former pod.
func TestAPodKeepsTheImagesThatItWasMadeOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "web", Charm: w.addCharm(sidecar()), Units: 1, Resources: map[string]state.Content{"img": imageOf("a:1", "hunter2")}}))
	w.takeOn("web/0")
	image := func() model.Image {
		t.Helper()
		p, err := w.Pod(w.ctx, "web/0")
		w.ok(err)
		had, known := p.Had()
		if !known {
			t.Fatalf("it has none: %+v", p)
		}
		image, err := w.PodImage(w.ctx, "web", had, "img")
		w.ok(err)
		return image
	}
	if got, want := image(), *imageOf("a:1", "hunter2").Image; got != want {
		t.Errorf("at first %+v", got.Hidden())
	}
	// A former image's credentials are those of the application only for the same
	// reference.
	hidden := model.Image{Reference: "a:1", Digest: "sha256:1", Username: "robot"}
	w.giveImage("a:2")
	if got := image(); got != hidden {
		t.Errorf("before its turn %+v", got)
	}
	w.rollOut(true, "0:1")
	w.giveImage("a:3") // before the agent has taken the other one
	w.rollOut(true, "0:1")
	if got := image(); got != hidden {
		t.Errorf("in its turn %+v", got)
	}
	w.ok(w.TellPod(w.ctx, "web/0", 1, false))
	if got := image(); got.Reference != "a:3" {
		t.Errorf("afterwards %+v", got.Hidden())
	}
}
