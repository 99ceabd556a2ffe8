package isolate

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"

	"github.com/juju/errors"
)

// setUp is what an init reads first, as a line of JSON, on its standard input.
type setUp struct {
	Spec
	// Dir is the cell's directory on the host.
	Dir string `json:"dir"`
	// User: the init is in a user name space.
	User bool `json:"user"`
	// IDs are what there are in it.
	IDs IDs `json:"ids,omitzero"`
	// OwnNet: it has a network name space.
	OwnNet bool `json:"own-net"`
	// Fresh: nothing was written to the overlay yet.
	Fresh bool `json:"fresh"`
	// Join: the files of a cell's network and host name come too. Group: it is in a
	// cgroup of its own. For workload containers only.
	Join bool `json:"join,omitempty"`
	// Joined: it has them already.
	Joined bool `json:"joined,omitempty"`
	Group  bool `json:"group,omitempty"`
	// Mapped: the agent is root, and has given it these ids; what of the host it has comes by hands.
	Mapped IDs `json:"mapped,omitzero"`
	Network

	// hands is the connection to the agent, see taking; nil: there is none.
	hands *net.UnixConn
	// root is where the root is put together, layers has what has changed of it, as
	// this process gets to them.
	root, layers string
	// resolvers is what /etc/resolv.conf of a machine that is new says; nil: what it has.
	resolvers *string
}

// single says whether there is one user inside.
func (s setUp) single() bool { return s.User && !s.IDs.Many() && !s.Mapped.Many() }

// goAhead is the second line that an init reads, once the host has done its
// part. An init that doesn't get it ends: the agent was killed.
type goAhead struct {
	Link string `json:"link,omitempty"` // the network device that is the cell's
}

// report is each line that an init writes before it serves, or becomes the first
// program: of which the end of its reports tells.
type report struct {
	// Err is why there will be no cell; Rights says that it is for lack of rights.
	Err    string `json:"err,omitempty"`
	Rights bool   `json:"rights,omitempty"`
	// Without are the directories of the host that aren't in the cell.
	Without []string `json:"without,omitempty"`
}

// maxMessage bounds what is read at once.
const maxMessage = 8 << 20

// frame is a message with its length before it.
func frame(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...), nil
}

// readFrame reads a message of which head has the first bytes.
func readFrame(r io.Reader, head []byte, v any) error {
	r = io.MultiReader(bytes.NewReader(head), r)
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return errors.Trace(err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxMessage {
		return errors.Errorf("a message of %d bytes is too long", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(json.Unmarshal(b, v))
}
