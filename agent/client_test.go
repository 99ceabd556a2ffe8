package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

func TestNothingThatIsRecordedForTheClientIsLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const writers = 8
	var all sync.WaitGroup
	for n := range writers {
		name := fmt.Sprint("cloud-", n)
		for _, change := range []func(*ClientRecords) error{
			func(r *ClientRecords) error {
				r.Clouds[name] = model.Cloud{Type: "openstack"}
				return nil
			},
			func(r *ClientRecords) error {
				r.Credentials[name] = model.CloudCredentials{DefaultRegion: "east"}
				return nil
			},
		} {
			all.Go(func() {
				if err := changeClient(dir, change); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	r, err := readClient(dir)
	if err != nil || len(r.Clouds) != writers || len(r.Credentials) != writers {
		t.Errorf("of %d clouds and as many credentials there are %d and %d, %v", writers, len(r.Clouds), len(r.Credentials), err)
	}
}

func TestAFileOfTheClientThatDoesNotChangeIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := changeClient(dir, func(r *ClientRecords) error {
		r.Credentials["aws"] = model.CloudCredentials{DefaultRegion: "east"}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, clientClouds)); !os.IsNotExist(err) {
		t.Errorf("clouds are written, too: %v", err)
	}
	refused := errors.New("refused")
	err := changeClient(dir, func(r *ClientRecords) error {
		r.Clouds["x"] = model.Cloud{}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("the error of who changes is %v", err)
	}
	if r, err := readClient(dir); err != nil || len(r.Clouds) != 0 {
		t.Errorf("what was refused is recorded: %v, %v", r.Clouds, err)
	}
}
