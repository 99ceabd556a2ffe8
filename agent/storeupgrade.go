package agent

import (
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/sqlite"
)

// StoreUpgrade is what UpgradeStore has found.
type StoreUpgrade struct {
	// Format is the one that this program writes, and Former says that the store had an
	// earlier one.
	Format string
	Former bool
	// First says which agents have to end before the store can have it; nil: none.
	First error
}

// errAsItIs ends the opening of a store that is to be left as it is.
const errAsItIs = errors.ConstError("the store is left as it is")

// formerStore is what becomes of a store of a former format that is opened.
type formerStore struct {
	met, leave bool
	first      error
}

// found is told which agents keep the store from being upgraded, and says whether it is left
// as it is.
func (f *formerStore) found(first error) error {
	f.met, f.first = true, first
	if f.leave {
		return errors.Trace(errAsItIs)
	}
	return first
}

// UpgradeStore gives the store the format of this program, or with dry looks what that would
// take, and leaves the store as it is. The error is NotFound if there is no store, and says
// which agents have to end first.
func (h *Host) UpgradeStore(dry bool) (StoreUpgrade, error) {
	found := StoreUpgrade{Format: strconv.Itoa(sqlite.Format)}
	dir, err := DataDir()
	if err != nil {
		return found, errors.Trace(err)
	}
	if !h.HasStore(dir) {
		return found, errors.NewNotFound(nil, "there is no store to upgrade in "+dir)
	}
	name, err := h.StoreName()
	if err != nil {
		return found, err
	}
	if strings.HasPrefix(name, etcd.Scheme) {
		found.Format = etcd.Format
	}
	h.former.leave = dry
	_, err = h.Open()
	if errors.Is(err, errAsItIs) {
		err = nil
	}
	found.Former, found.First = h.former.met, h.former.first
	return found, err
}
