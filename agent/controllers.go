package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/mounts"
	"github.com/unitd/unitd/pattern"
)

const (
	// OwnController is the name of the store that a host has without anybody having
	// made one.
	OwnController = "unitd"
	// controllersDir has, in the host's own data directory, those of the others.
	controllersDir = "controllers"
	// controllerFile says in each of them which it is.
	controllerFile = "controller.json"
	// currentControllerFile names, in the host's own, the one that commands work on.
	currentControllerFile = "current-controller"
)

// Registered is a store of this host that has a name, and a data directory of its own
// with an agent of its own. Source: docs/spec/juju-clients.md §3.5.
type Registered struct {
	Name    string    `json:"name"`
	Cloud   string    `json:"cloud"`
	Region  string    `json:"region,omitempty"`
	Created time.Time `json:"created,omitzero"`
	// Dir is its data directory.
	Dir string `json:"-"`
}

// own is the host's own store.
func own(root string) Registered {
	return Registered{Name: OwnController, Cloud: "local", Region: "host", Dir: root}
}

// readRegistered is what a data directory is that of; false: a host's own.
func readRegistered(dir string) (r Registered, ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, controllerFile))
	if os.IsNotExist(err) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	r.Dir = dir
	return r, err == nil, errors.Annotate(err, "cannot tell which controller this is")
}

// Controller is the one whose data directory this command works in.
func Controller() (Registered, error) {
	dir, err := DataDirPath()
	if err != nil {
		return Registered{}, errors.Trace(err)
	}
	r, ok, err := readRegistered(dir)
	if err != nil || ok {
		return r, errors.Trace(err)
	}
	return own(dir), nil
}

// RootDir is the host's own data directory, whichever this command works in.
func RootDir() (string, error) {
	dir, err := DataDirPath()
	if err != nil {
		return "", errors.Trace(err)
	}
	if _, ok, err := readRegistered(dir); err != nil || ok {
		return filepath.Dir(filepath.Dir(dir)), errors.Trace(err)
	}
	return dir, nil
}

// Controllers are all of this host, its own store first, the others by name.
func Controllers() ([]Registered, error) {
	root, err := RootDir()
	if err != nil {
		return nil, errors.Trace(err)
	}
	all := []Registered{own(root)}
	entries, err := os.ReadDir(filepath.Join(root, controllersDir))
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Annotate(err, "cannot list the controllers")
	}
	for _, e := range entries {
		switch r, ok, err := readRegistered(filepath.Join(root, controllersDir, e.Name())); {
		case err != nil:
			return nil, errors.Trace(err)
		case ok:
			all = append(all, r)
		}
	}
	return all, nil
}

// FindController is one of Controllers by its name; errors.NotFound if there is none.
func FindController(name string) (Registered, error) {
	all, err := Controllers()
	if err != nil {
		return Registered{}, errors.Trace(err)
	}
	names := make([]string, len(all))
	for i, r := range all {
		if names[i] = r.Name; r.Name == name {
			return r, nil
		}
	}
	if len(all) == 1 {
		return Registered{}, errors.NewNotFound(nil, fmt.Sprintf("controller %s not found: the only one here is %s", name, names[0]))
	}
	return Registered{}, errors.NewNotFound(nil, fmt.Sprintf("controller %s not found: there are %s", name, strings.Join(names, ", ")))
}

// ControllerChosen is the one that commands work on that name none.
func ControllerChosen() (string, error) {
	here, err := Controller()
	if err != nil || here.Name != OwnController {
		return here.Name, errors.Trace(err)
	}
	b, err := os.ReadFile(filepath.Join(here.Dir, currentControllerFile))
	if err != nil && !os.IsNotExist(err) {
		return "", errors.Annotate(err, "cannot tell which controller is the current one")
	}
	return cmp.Or(strings.TrimSpace(string(b)), OwnController), nil
}

// ChooseController has commands that name none work on that one.
func ChooseController(name string) error {
	root, err := RootDir()
	if err != nil {
		return errors.Trace(err)
	}
	path := filepath.Join(root, currentControllerFile)
	if name == OwnController {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return errors.Annotate(err, "cannot remember the current controller")
		}
		return nil
	}
	return errors.Annotate(durable.Disk{}.ReplaceFile(path, []byte(name+"\n"), 0o600), "cannot remember the current controller")
}

// WorkOn has this command, and what it starts, work in the data directory of that
// controller from now on. A store that is open is closed; --store holds for the host's
// own alone.
func (h *Host) WorkOn(name string) error {
	here, err := Controller()
	if err != nil || here.Name == name {
		return errors.Trace(err)
	}
	to, err := FindController(name)
	if err != nil {
		return errors.Trace(err)
	}
	if err := h.CloseStore(); err != nil {
		return errors.Trace(err)
	}
	switch own := to.Name == OwnController; {
	case own && h.away:
		h.StoreFlag, h.away = h.own, false
	case !own && !h.away:
		h.own, h.away, h.StoreFlag = h.StoreFlag, true, LocalStore
	}
	return errors.Trace(os.Setenv(dataVariable, to.Dir))
}

var validController = pattern.New(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`)

// RegisterController makes the data directory of a new controller. Errors: NotValid for
// its name, AlreadyExists.
func RegisterController(r Registered) (Registered, error) {
	if !validController.MatchString(r.Name) {
		return r, errors.NewNotValid(nil, fmt.Sprintf("controller name %q not valid", r.Name))
	}
	if _, err := FindController(r.Name); !errors.Is(err, errors.NotFound) {
		if err == nil {
			err = errors.NewAlreadyExists(nil, fmt.Sprintf("controller %q already exists", r.Name))
		}
		return r, err
	}
	root, err := RootDir()
	if err != nil {
		return r, errors.Trace(err)
	}
	r.Dir = filepath.Join(root, controllersDir, r.Name)
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return r, errors.Annotate(err, "cannot make the controller's data directory")
	}
	b, err := json.Marshal(r)
	if err != nil {
		return r, errors.Trace(err)
	}
	return r, errors.Annotate(durable.Disk{}.ReplaceFile(filepath.Join(r.Dir, controllerFile), append(b, '\n'), 0o600), "cannot register the controller")
}

// RemoveController takes a controller's data directory away, whose agent has ended and
// whose models are gone. What was released of storage is kept in the host's own.
func (h *Host) RemoveController(r Registered) error {
	if r.Name == OwnController {
		return errors.NewNotValid(nil, fmt.Sprintf("%q is this host's own store", r.Name))
	}
	root := filepath.Dir(filepath.Dir(r.Dir))
	if err := h.CloseStore(); err != nil {
		return errors.Trace(err)
	}
	if err := notMounted(r.Dir); err != nil {
		return err
	}
	const released = "released-storage"
	entries, err := os.ReadDir(filepath.Join(r.Dir, released))
	if err != nil && !os.IsNotExist(err) {
		return errors.Annotate(err, "cannot keep the released storage")
	}
	for _, e := range entries {
		if err := os.MkdirAll(filepath.Join(root, released), 0o700); err != nil {
			return errors.Annotate(err, "cannot keep the released storage")
		}
		to := filepath.Join(root, released, e.Name())
		if err := os.Rename(filepath.Join(r.Dir, released, e.Name()), to); err != nil {
			return errors.Annotate(err, "cannot keep the released storage")
		}
		h.Note("what was released of storage is in %s", to)
	}
	if chosen, err := os.ReadFile(filepath.Join(root, currentControllerFile)); err == nil && strings.TrimSpace(string(chosen)) == r.Name {
		if err := os.Remove(filepath.Join(root, currentControllerFile)); err != nil {
			return errors.Annotate(err, "cannot forget the controller")
		}
	}
	if err := os.Setenv(dataVariable, root); err != nil {
		return errors.Trace(err)
	}
	if err := os.RemoveAll(r.Dir); err != nil {
		return errors.Annotate(err, "cannot remove the controller's data directory")
	}
	_ = os.Remove(filepath.Dir(r.Dir)) // if it was the last one
	return nil
}

// notMounted is the error of a directory that something is still mounted in, whichever way it
// is named: removing it would remove what is there.
func notMounted(dir string) error {
	all, err := mounts.Own()
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing of that kind here
	}
	if err != nil {
		return errors.Annotate(err, "cannot see what is mounted")
	}
	real, err := filepath.EvalSymlinks(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return errors.Annotate(err, "cannot see what is mounted")
	}
	there := mountedIn(all, real)
	if len(there) > 0 {
		return errors.Errorf("cannot remove %s: %s is still mounted", dir, slices.Min(there))
	}
	return nil
}

// mountedIn are the places of mounts that are in a directory, of which the path has no links.
func mountedIn(all []mounts.Mount, dir string) (there []string) {
	for _, m := range all {
		if strings.HasPrefix(m.At+"/", dir+"/") {
			there = append(there, m.At)
		}
	}
	return there
}
