package cli

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/isolate"
)

// person is a user of the place, with the groups that it is in; false: the place has
// no such user, or this process may not act as one.
func (p Place) person(user string) (who isolate.Person, ok bool) {
	if user == "" || !p.gives() {
		return who, false
	}
	p.accounts("/etc/passwd", func(fields []string) {
		if ok || fields[0] != user || len(fields) < 6 {
			return
		}
		uid, uerr := strconv.Atoi(fields[2])
		gid, gerr := strconv.Atoi(fields[3])
		if uerr == nil && gerr == nil && path.IsAbs(fields[5]) {
			who, ok = isolate.Person{UID: uid, GID: gid, Home: fields[5]}, true
		}
	})
	p.accounts("/etc/group", func(fields []string) {
		if len(fields) < 4 || !slices.Contains(strings.Split(fields[3], ","), user) {
			return
		}
		if gid, err := strconv.Atoi(fields[2]); err == nil {
			who.Groups = append(who.Groups, gid)
		}
	})
	return who, ok
}

// accounts reads a file as /etc/passwd, where there is one, line by line.
func (p Place) accounts(name string, each func(fields []string)) {
	f, err := p.OpenFile(name, os.O_RDONLY, fs.FileMode(0))
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		each(strings.Split(lines.Text(), ":"))
	}
}
