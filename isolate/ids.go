package isolate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// IDs say which users and groups there are in a user name space, and who they are
// on the host. The zero value is no mapping of many: for root of the host the
// numbers are the host's, and for others there is one user inside.
type IDs struct {
	UIDs []Range `json:"uids,omitempty"`
	GIDs []Range `json:"gids,omitempty"`
}

// Range is ids that follow each other.
type Range struct {
	Inside int `json:"inside"`
	Host   int `json:"host"`
	Size   int `json:"size"`
}

// Many says whether there are many users inside.
func (i IDs) Many() bool { return len(i.UIDs) > 0 }

// Key is a short name of the mapping, by which what was made in one is told from what
// was made in another. It is empty for the zero value.
func (i IDs) Key() string {
	if !i.Many() {
		return ""
	}
	sum := sha256.Sum256(fmt.Append(nil, i.UIDs, i.GIDs))
	return hex.EncodeToString(sum[:4])
}

// OnHost are the host's numbers of a user and a group inside. What isn't mapped, such
// as -1, stays as it is.
func (i IDs) OnHost(uid, gid int) (int, int) {
	return mapID(i.UIDs, uid, Range.onHost), mapID(i.GIDs, gid, Range.onHost)
}

// Inside undoes OnHost.
func (i IDs) Inside(uid, gid int) (int, int) {
	return mapID(i.UIDs, uid, Range.inside), mapID(i.GIDs, gid, Range.inside)
}

func mapID(all []Range, id int, by func(Range, int) (int, bool)) int {
	for _, r := range all {
		if to, ok := by(r, id); ok {
			return to
		}
	}
	return id
}

func (r Range) onHost(id int) (int, bool) {
	return id - r.Inside + r.Host, id >= r.Inside && id < r.Inside+r.Size
}

func (r Range) inside(id int) (int, bool) {
	return id - r.Host + r.Inside, id >= r.Host && id < r.Host+r.Size
}
