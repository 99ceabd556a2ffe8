package cli

import (
	"bytes"
	"io"
	"testing"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
)

// TestAUnitThatIsNoLongerInErrorFailsOnlyWhenItIsNamed: between the list of the failed
// units and the answer to one of them, its own retry may have succeeded, or somebody may
// have removed it.
func TestAUnitThatIsNoLongerInErrorFailsOnlyWhenItIsNamed(t *testing.T) {
	t.Parallel()
	m, err := modelOfUnits(t, 10).Model(t.Context(), defaultModel)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	host := agent.New(t.Context(), io.Discard, "unitd")
	a := unitVerbs{base: base{&output{Streams: Streams{Out: io.Discard, Err: &said}}, &focus{Host: host}}, Deployer: deploy.New(host, io.Discard)}
	names := []model.UnitName{"app0/0", "app0/9"}
	if _, failed := a.resolveEach(m, names, resolvedFlags{all: true}); failed > 0 || said.Len() > 0 {
		t.Errorf("with --all, it fails: %s", said.String())
	}
	const want = `ERROR unit "app0/0" is not in an error state` + "\n" + `ERROR unit "app0/9" not found` + "\n"
	if done, failed := a.resolveEach(m, names, resolvedFlags{}); done != 0 || failed != 2 || said.String() != want {
		t.Errorf("with units that are named, it says %q, want %q", said.String(), want)
	}
}
