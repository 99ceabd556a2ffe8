package machine

import (
	"os"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
)

// charmsDir has the charms that are unpacked for all units of the host, and the archives
// of those that are being deployed; dir is Config.Dir.
func charmsDir(dir string) string { return filepath.Join(dir, "charms") }

func (c Config) newCharms() *charmdir.Store { return charmdir.NewStore(c.Disk, charmsDir(c.Dir)) }

// SharesCharms says whether units of one charm share its bytes in an agent's directory,
// which is there. It tries, and leaves nothing behind.
func SharesCharms(dir string) bool { return Config{Dir: dir}.newCharms().Shares() }

// collectCharms removes unpacked charms that no unit has.
func (a *agent) collectCharms() {
	if err := a.charms.Collect(a.neededCharms); err != nil {
		a.Log.Warn("unpacked charms take room that nobody needs", "err", err)
	}
}

// neededCharms are the digests of those that units have, of all models: what is left of
// units that are gone counts until it is removed.
func (a *agent) neededCharms() (map[string]bool, error) {
	need := map[string]bool{}
	models, err := namesIn(filepath.Join(a.Dir, "models"))
	if err != nil {
		return nil, err
	}
	for _, uuid := range models {
		agents := filepath.Join(ModelDir(a.Dir, uuid), "agents")
		units, err := namesIn(agents)
		if err != nil {
			return nil, err
		}
		for _, unit := range units {
			need[charmdir.Needed(filepath.Join(agents, unit))] = true
		}
	}
	return need, nil
}

// namesIn are what a directory has; none if it isn't there.
func namesIn(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	all, err := f.Readdirnames(-1)
	return all, errors.Trace(err)
}
