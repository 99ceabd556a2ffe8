package lab

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// Request is what a script tells an agent under test: one line of JSON. At most
// one of its members is set, but for Model; none asks how things are.
type Request struct {
	// Model is the UUID of the model that Release and Depose are about.
	Model string `json:"model,omitempty"`
	// Now sets the clock, on its way to Until.
	Now   time.Time `json:"now,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// SkipStatus has update-status that change nothing told as one until then; see
	// Statuses.
	SkipStatus bool `json:"skip-status,omitempty"`
	// Rounds has the agent make those of its rounds whose time has come; see Rounds.
	Rounds bool `json:"rounds,omitempty"`
	// Fault is to happen.
	Fault *Fault `json:"fault,omitempty"`
	// Release lets a unit go; see Faults.Release.
	Release model.UnitName `json:"release,omitempty"`
	// Done lets a run go on whose command was carried out; see Asked.
	Done int `json:"done,omitempty"`
	// Hold holds the agent, or lets it go on; see Store.
	Hold *bool `json:"hold,omitempty"`
	// Twice says whether hooks are run twice; see machine.Config.Twice.
	Twice *bool `json:"twice,omitempty"`
	// Limit is how many more hooks may run; see Order.Limit.
	Limit *int `json:"limit,omitempty"`
	// Order is the seed of the order in which units run their hooks; see
	// Order.Choose.
	Order *uint64 `json:"order,omitempty"`
	// LoseStore is for how long the store is out of reach.
	LoseStore time.Duration `json:"lose-store,omitempty"`
	// DiskFull says whether the disk is full; nil: as it was.
	DiskFull *bool `json:"disk-full,omitempty"`
	// Depose takes the leadership of an application from who has it.
	Depose string `json:"depose,omitempty"`
	// Address is the machine's from now on.
	Address string `json:"address,omitempty"`
	// Container is kept ended from now on, or isn't any more.
	Container *HeldContainer `json:"container,omitempty"`
}

// HeldContainer is a workload container of a unit, in the model with a UUID; Held:
// it isn't started again once it has ended. See machine.Containers.
type HeldContainer struct {
	Model string         `json:"model"`
	Unit  model.UnitName `json:"unit"`
	Name  string         `json:"name"`
	Held  bool           `json:"held"`
}

// What the process of an agent under test is given by its environment, and the
// exit code by which it says that a charm wants the machine to be rebooted.
const (
	BootVariable        = "UNITD_LAB_BOOT"        // names the machine's boot
	AddressVariable     = "UNITD_LAB_ADDRESS"     // is the machine's address; empty: the host's
	ClosedVariable      = "UNITD_LAB_CLOSED"      // if not empty, isolated units reach nothing beyond the host and each other
	SeedVariable        = "UNITD_LAB_SEED"        // is the seed that their machines begin with, see isolate.Gather; empty: none
	SharedVariable      = "UNITD_LAB_SHARED"      // is the script's directory, which isolated units see, too
	EnvironmentVariable = "UNITD_LAB_ENVIRONMENT" // are more variables for hooks, one a line
	Rebooting           = 75
)

// PlainVariable has the command line make archives of charms that aren't compressed, in a world
// that is gone soon; empty: it doesn't.
const PlainVariable = "UNITD_LAB_PLAIN"

// WorkVariable is what hooks find that directory by.
const WorkVariable = "UNITD_WORK"

// Answer is the answer to a Request, on one line as well.
type Answer struct {
	Error string `json:"error,omitempty"`
	// Next is when something is due on the agent's clock; zero: nothing is. Round
	// is when a round will find something; zero: nobody knows of anything.
	Next  time.Time `json:"next,omitzero"`
	Round time.Time `json:"round,omitzero"`
	// Hung are the units that stand still.
	Hung []model.UnitName `json:"hung,omitempty"`
	// Asks are the commands that the script is to carry out.
	Asks []Asked `json:"asks,omitempty"`
	// Still is up to which revision nothing happens any more, because of those.
	Still int64 `json:"still,omitempty"`
	// Paused: no more hooks may run, and one would.
	Paused bool `json:"paused,omitempty"`
	// Lost: the store is out of reach.
	Lost bool `json:"lost,omitempty"`
	// Kills: a fault is still to happen that ends the agent.
	Kills bool `json:"kills,omitempty"`
	// Armed are the faults that are still to happen.
	Armed []Fault `json:"armed,omitempty"`
	// Full: the disk is full.
	Full bool `json:"full,omitempty"`
	// Busy says why all isn't done yet, where the agent knows it.
	Busy string `json:"busy,omitempty"`
	// Coming names the workload containers that aren't there yet.
	Coming []string `json:"coming,omitempty"`
	// Fetched grows as long as images are being fetched for such containers.
	Fetched int64 `json:"fetched,omitempty"`
}

// Server answers requests.
type Server struct {
	Clock  *Clock
	Faults *Faults
	Store  *Store
	Order  *Order
	Rounds *Rounds
	// Containers are those of the agent's units.
	Containers *machine.Containers
	// Statuses are those that are told as one.
	Statuses *Statuses
	// Twice is whether hooks are run twice.
	Twice atomic.Bool
	// Still is up to which revision nothing happens any more.
	Still atomic.Int64
	busy  sync.Map // why not, by models' UUIDs
	// Address is the machine's, a string; empty: the host's.
	Address atomic.Value
	// Depose is Faults.Depose at once.
	Depose func(uuid, application string) error
	// Gone is called when a script has closed its connection: it has ended, and
	// so should the agent.
	Gone func()

	disk fullDisk
}

// Serve answers the requests of one connection after the other until the
// listener is closed.
func (s *Server) Serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		go s.talk(conn)
	}
}

// Room is machine.Config.Room of the agent.
func (s *Server) Room() error {
	if s.disk.full() {
		return errors.New("the disk is full, as the script wants")
	}
	return nil
}

// DiskFull says whether the script wants the disk to be full.
func (s *Server) DiskFull() bool { return s.disk.full() }

func (s *Server) talk(conn net.Conn) {
	defer s.Gone()
	defer conn.Close()
	in, out := json.NewDecoder(bufio.NewReader(conn)), json.NewEncoder(conn)
	for {
		var r Request
		if err := in.Decode(&r); err != nil {
			return // the script has ended, or is nobody we know
		}
		a := Answer{}
		if err := s.do(r); err != nil {
			a.Error = err.Error()
		}
		a.Still = s.Still.Load()
		a.Lost, a.Paused = s.Store.Lost(), s.Order.Paused()
		a.Armed = s.Faults.Armed() // before those that hang: a fault goes that way
		a.Asks = s.Faults.Asks()
		a.Full = s.disk.full()
		a.Next, a.Hung, a.Kills = s.Clock.Next(), s.Faults.Hung(), s.Faults.Kills()
		a.Round, a.Coming = s.Rounds.Next(a.Lost || a.Full), s.Containers.Coming()
		a.Fetched, a.Busy = s.Containers.Fetched(), s.whyBusy()
		if err := out.Encode(a); err != nil {
			return
		}
	}
}

// Busy notes why not all is done in a model; "": it may be.
func (s *Server) Busy(model, why string) {
	if why == "" {
		s.busy.Delete(model)
	} else {
		s.busy.Store(model, why)
	}
}

// whyBusy is one of the reasons.
func (s *Server) whyBusy() (why string) {
	s.busy.Range(func(_, one any) bool {
		why = one.(string)
		return false
	})
	return why
}

func (s *Server) do(r Request) error {
	switch {
	case !r.Now.IsZero():
		if !s.Store.Keep(r.Now, r.Until) {
			s.Rounds.Want() // it takes another one
		}
		if r.SkipStatus {
			s.Statuses.Skip(r.Until)
		}
		s.Clock.Set(r.Now)
	case r.Rounds:
		s.Rounds.Make()
	case r.Fault != nil:
		s.Faults.Add(*r.Fault)
	case r.Release != "":
		s.Faults.Release(r.Model, r.Release)
	case r.Done != 0:
		s.Faults.Done(r.Done)
	case r.Twice != nil:
		s.Twice.Store(*r.Twice)
	case r.Limit != nil:
		s.Order.Limit(*r.Limit)
	case r.Order != nil:
		s.Order.Choose(*r.Order)
	case r.Hold != nil:
		s.Store.Hold(*r.Hold)
	case r.LoseStore > 0:
		s.Store.Lose(s.Clock.Now().Add(r.LoseStore))
	case r.DiskFull != nil:
		return errors.Annotate(s.disk.fill(*r.DiskFull), "cannot make the disk look full")
	case r.Address != "":
		s.Address.Store(r.Address)
		s.Rounds.Want()
	case r.Container != nil:
		s.Containers.Hold(r.Container.Model, r.Container.Unit, r.Container.Name, r.Container.Held)
	case r.Depose != "":
		return s.Depose(r.Model, r.Depose)
	}
	return nil
}

// Client is the script's end.
type Client struct {
	conn net.Conn
	in   *json.Decoder
	out  *json.Encoder
}

// Dial connects to the agent under test whose socket is at path.
func Dial(path string) (*Client, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, errors.Annotate(err, "cannot reach the agent under test")
	}
	return &Client{conn: conn, in: json.NewDecoder(conn), out: json.NewEncoder(conn)}, nil
}

// Do sends a request and waits for its answer. An agent that has ended gives io.EOF.
func (c *Client) Do(r Request) (Answer, error) {
	var a Answer
	err := c.out.Encode(r)
	if err == nil {
		err = c.in.Decode(&a)
	}
	if err != nil {
		// One that is killed before it has read all leaves no end, but a broken connection.
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
			if errors.Is(err, end) {
				return Answer{}, io.EOF
			}
		}
		return Answer{}, errors.Trace(err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// Close ends the connection.
func (c *Client) Close() error { return errors.Trace(c.conn.Close()) }
