package workload

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/juju/errors"
)

// person is whom Pebble runs as, by numbers, and where they are at home.
type person struct {
	uid, gid int
	home     string
}

// in is the user in a root whose layers are given, top first; of is what the image
// says, "user", "uid" or either with ":group". The error is NotFound where the
// image has no such user or group.
// Source: docs/spec/containers.md §5.3.
func (u User) in(layers []string, of string) (person, error) {
	p := person{home: "/root"}
	if u.Image && of != "" {
		var err error
		if p, err = lookUp(layers, of); err != nil {
			return p, errors.Trace(err)
		}
	}
	if u.UID != nil {
		if p.uid = *u.UID; p.uid != 0 {
			p.home = "/" // where nobody is kept out
		}
		if found, err := lookUp(layers, strconv.Itoa(p.uid)); err == nil {
			p.home = found.home
		}
	}
	if u.GID != nil {
		p.gid = *u.GID
	}
	return p, nil
}

// lookUp finds whom an image means by "user", "uid", or either with ":group".
func lookUp(layers []string, of string) (person, error) {
	user, group, grouped := strings.Cut(of, ":")
	p := person{home: "/"}
	uid, err := strconv.Atoi(user)
	numeric := err == nil
	p.uid = uid
	entry, err := find(layers, "etc/passwd", func(f []string) bool {
		return len(f) >= 6 && (f[0] == user || numeric && f[2] == user)
	})
	switch {
	case err != nil:
		return p, errors.Trace(err)
	case entry != nil:
		if p.uid, err = strconv.Atoi(entry[2]); err == nil {
			p.gid, err = strconv.Atoi(entry[3])
		}
		if err != nil {
			return p, errors.NewNotValid(nil, fmt.Sprintf("the image's user %q has no number", user))
		}
		p.home = entry[5]
	case !numeric:
		return p, errors.NewNotFound(nil, fmt.Sprintf("the image has no user %q, as whom it is to run", user))
	}
	if !grouped {
		return p, nil
	}
	if p.gid, err = strconv.Atoi(group); err == nil {
		return p, nil
	}
	entry, err = find(layers, "etc/group", func(f []string) bool { return len(f) >= 3 && f[0] == group })
	if err != nil {
		return p, errors.Trace(err)
	}
	if entry != nil {
		if p.gid, err = strconv.Atoi(entry[2]); err == nil {
			return p, nil
		}
	}
	return p, errors.NewNotFound(nil, fmt.Sprintf("the image has no group %q, as which it is to run", group))
}

// find is the first line of a file of the image, parted at colons, that is wanted;
// nil: there is none. The topmost layer that has the file says what is in it.
func find(layers []string, name string, wanted func([]string) bool) ([]string, error) {
	for _, layer := range layers {
		f, err := openIn(layer, name)
		if os.IsNotExist(err) {
			continue
		}
		if errors.Is(err, errRemoved) {
			return nil, nil
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if fields := strings.Split(lines.Text(), ":"); wanted(fields) {
				return fields, nil
			}
		}
		return nil, errors.Trace(lines.Err())
	}
	return nil, nil
}

// errRemoved is the error of a file that a layer removes, whatever those below have.
const errRemoved = errors.ConstError("the layer removes it")

// openIn opens a regular file of a layer, following links within the layer alone.
func openIn(layer, name string) (*os.File, error) {
	root, err := os.OpenRoot(layer)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name = filepath.FromSlash(name)
	st, err := root.Stat(name)
	if err != nil {
		return nil, os.ErrNotExist // also what leads out of the layer
	}
	if st.Mode()&os.ModeCharDevice != 0 { // images have no other devices
		return nil, errRemoved
	}
	if !st.Mode().IsRegular() {
		return nil, os.ErrNotExist
	}
	return root.Open(name)
}
