package isolate

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
)

// arguments are those of newuidmap and newgidmap.
func arguments(all []Range) []string {
	var args []string
	for _, r := range all {
		args = append(args, strconv.Itoa(r.Inside), strconv.Itoa(r.Host), strconv.Itoa(r.Size))
	}
	return args
}

const (
	// leastIDs is how many subordinate ids somebody needs: nobody is 65534 in most
	// images, and a smaller range would refuse these.
	leastIDs = 1 << 16
	// rockUser is as whom the services of rocks run. The usual range doesn't reach it.
	rockUser = 584792
)

// mapped are the ids inside of somebody who has subordinate ones: 0 is that one's own,
// and from 1 on those follow. Where they don't reach the user of rocks the last of
// them is that one.
func mapped(own int, ranges []Range) []Range {
	all := []Range{{Inside: 0, Host: own, Size: 1}}
	next := 1
	for _, r := range ranges {
		all = append(all, Range{Inside: next, Host: r.Host, Size: r.Size})
		next += r.Size
	}
	if last := &all[len(all)-1]; next <= rockUser && last.Size > 1 {
		last.Size--
		all = append(all, Range{Inside: rockUser, Host: last.Host + last.Size, Size: 1})
	}
	return all
}

// subordinate are the ranges of somebody, by any of the names, in a file such as
// /etc/subuid. What is no range in it is passed over, as newuidmap does. The error is
// NotFound where they have less than leastIDs.
func subordinate(file io.Reader, names ...string) ([]Range, error) {
	var all []Range
	sum := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		f := strings.Split(strings.TrimSpace(lines.Text()), ":")
		if len(f) != 3 || !slices.Contains(names, f[0]) {
			continue
		}
		first, err := strconv.ParseUint(f[1], 10, 32)
		size, sizeErr := strconv.ParseUint(f[2], 10, 32)
		if err != nil || sizeErr != nil || size == 0 || first+size >= 1<<32 {
			continue
		}
		all = append(all, Range{Host: int(first), Size: int(size)})
		sum += int(size)
	}
	if sum < leastIDs {
		return nil, errors.NotFoundf("%d subordinate ids", leastIDs)
	}
	return all, nil
}
