package check

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// A walk is a scenario at random: one move after the other, each of which ends settled, from a
// place that another walk has come to. A walk on which a hook has run in a way that is new is one
// from which others go on: so a search gets to where it has rarely been.

// move is something that happens, and the promise that a charm breaks that can't go on then.
type move struct {
	Promise string   `json:"promise"`
	Lines   []string `json:"lines"`
}

// trail are moves that follow each other, from the beginning.
type trail []move

// lines are a trail's.
func (t trail) lines() (all []string) {
	for _, m := range t {
		all = append(all, m.Lines...)
	}
	return all
}

// promiseAt is the promise of the move that a line is in.
func (t trail) promiseAt(line int) string {
	for _, m := range t {
		if line < len(m.Lines) {
			return m.Promise
		}
		line -= len(m.Lines)
	}
	return ""
}

const (
	// maxTrail bounds the moves of a walk, newMoves how many it has more than the one that it goes
	// on from.
	maxTrail, newMoves = 16, 4
	// walksFrom is how many walks go on from the same place, one after the other: it costs little
	// to go back to it.
	walksFrom = 4
	// maxTrails bounds the walks that others go on from.
	maxTrails = 256
	// maxUnits bounds the units of a walk, the charm's and those of each other side.
	maxUnits = 3
)

// walker makes walks.
type walker struct {
	world  World
	chance *rand.Rand
	// trails are the walks that others go on from; those that all begin with come first.
	trails []trail
	begins int
}

func newWalker(w World, chance *rand.Rand) *walker {
	k := &walker{world: w, chance: chance, trails: []trail{{{EmptyDatabag, w.bare()}}}}
	if w.Former != "" {
		k.trails = append(k.trails, trail{{Upgrade, slices.Concat(w.formerDeploy(), w.livesToUpgrade()[0], w.refresh())}})
	}
	k.begins = len(k.trails)
	return k
}

// from is a walk that others are to go on from: of two the one that was found later, so that all
// come to their turn, and the newest more often.
func (k *walker) from() trail {
	return k.trails[max(k.chance.IntN(len(k.trails)), k.chance.IntN(len(k.trails)))]
}

// on goes on from a walk.
func (k *walker) on(from trail) trail {
	t := slices.Clone(from)
	for range 1 + k.chance.IntN(newMoves) {
		moves := k.world.moves(k.world.wherever(t), k.chance)
		t = append(t, moves[k.chance.IntN(len(moves))])
	}
	return t
}

// keep notes a walk on which there was something new.
func (k *walker) keep(t trail) {
	if len(t) > maxTrail {
		return
	}
	if k.trails = append(k.trails, t); len(k.trails) > maxTrails {
		k.trails = slices.Delete(k.trails, k.begins, k.begins+1)
	}
}

// yard is what a walk has come to, as far as its lines say.
type yard struct {
	standing standing
	others   map[string]int // the number of the next unit of each stub
	joined   map[string][]int
	units    []int
	next     int
	most     int               // the highest next so far: container units come again, with their storage
	storage  map[string]string // the names of those storages that a walk has added: attached, detached
	kept     map[string]string // their ids
	stores   int
	secrets  map[string]string // of endpoints: made, or gone
	wrong    map[string]bool   // options
	stopped  map[string]bool   // containers
}

// wherever says what a walk comes to.
func (w World) wherever(t trail) yard {
	y := yard{standing: standing{}, others: map[string]int{}, joined: map[string][]int{}, storage: map[string]string{}, kept: map[string]string{},
		secrets: map[string]string{}, wrong: map[string]bool{}, stopped: map[string]bool{}}
	for _, s := range w.Charm.Storage {
		y.stores += s.CountMin
	}
	stubs := map[string]string{}
	for _, e := range w.Endpoints {
		stubs[e.Stub()] = e.Name
	}
	for _, line := range t.lines() {
		words := split(line)
		y.standing.after(words, stubs)
		y.line(w, words)
	}
	return y
}

// line is what a line changes.
func (y *yard) line(w World, words []string) {
	if words = w.ofUnits(words); len(words) == 0 {
		return
	}
	switch words[0] {
	case "deploy", "add-unit":
		y.units = append(y.units, y.next)
		y.next++
		fresh := y.next > y.most
		if y.most = max(y.most, y.next); words[0] == "add-unit" && fresh {
			for _, s := range w.Charm.Storage {
				y.stores += s.CountMin
			}
		}
	case "remove-unit":
		if w.pods() && len(y.units) > 0 {
			y.next--
			y.units = slices.DeleteFunc(y.units, func(n int) bool { return n == y.next })
		}
		y.units = slices.DeleteFunc(y.units, func(n int) bool { return words[1] == fmt.Sprintf("%s/%d", w.Application(), n) })
	case "stub":
		y.others[words[1]], y.joined[words[1]] = 1, []int{0}
	case "stub-join":
		for range joining(words) {
			y.joined[words[1]] = append(y.joined[words[1]], y.others[words[1]])
			y.others[words[1]]++
		}
	case "stub-leave":
		app, n, _ := strings.Cut(words[1], "/")
		y.joined[app] = slices.DeleteFunc(y.joined[app], func(k int) bool { return fmt.Sprint(k) == n })
	case "add-storage":
		y.storage[words[2]], y.kept[words[2]] = "attached", fmt.Sprintf("%s/%d", words[2], y.stores)
		y.stores++
	case "detach-storage", "attach-storage":
		id := words[len(words)-1]
		y.storage[id[:strings.LastIndex(id, "/")]] = words[0][:len("detach")] + "ed"
	case "grant-secret":
		y.secrets[words[1]] = "there"
	case "revoke-secret", "remove-secret":
		y.secrets[words[1]] = "gone"
	case "container-stop":
		y.stopped[words[2]] = true
	case "container-start":
		delete(y.stopped, words[2])
	case "config":
		y.wrong[optionOf(strings.Join(words, " "))] = words[2] != "--reset"
	}
}

// optionOf is the option that a line sets or resets.
func optionOf(line string) string {
	words := split(line)
	name, _, _ := strings.Cut(words[2], "=")
	if name == "--reset" {
		name = words[3]
	}
	return name
}

// moves are those that are possible, in an order that depends on nothing but what there is.
func (w World) moves(y yard, chance *rand.Rand) (all []move) {
	add := func(promise string, lines ...string) {
		all = append(all, move{promise, append(slices.Clip(lines), "settle")})
	}
	for _, e := range w.Endpoints {
		w.relationMoves(y, e, chance, add)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Options)) {
		option := fmt.Sprintf("config %s ", w.Application())
		if values := w.wrong(w.Charm.Options[name]); y.wrong[name] {
			add(WrongConfig, option+"--reset "+name)
		} else if len(values) > 0 {
			add(WrongConfig, option+name+"="+quoted(values[chance.IntN(len(values))]))
		}
	}
	for _, c := range w.change() {
		add(UpdateStatus, c[0])
	}
	w.unitMoves(y, chance, add)
	for _, c := range slices.Sorted(maps.Keys(w.Charm.Containers)) {
		if verb := "container-stop"; y.stopped[c] {
			add(Container, fmt.Sprintf("container-start %s %s", w.Unit(), c))
		} else if slices.Contains(y.units, 0) {
			add(Container, fmt.Sprintf("%s %s %s", verb, w.Unit(), c))
		}
	}
	add(UpdateStatus, "advance 6m")
	add(AMonth, noRetry, month[0], "settle", retry)
	add(Upgrade, w.refresh()[0])
	return all
}

// relationMoves are those of one endpoint.
func (w World) relationMoves(y yard, e Endpoint, chance *rand.Rand, add func(string, ...string)) {
	state, stub := y.standing.state(e.Name), e.Stub()
	if state == None || state == Gone {
		lines := w.relate(e)
		if state == None {
			lines = append(w.secretsOf(e), lines...)
		}
		add(OrderOfRelations, lines...)
		add(OrderOfRelations, append(slices.Clip(lines), e.publish(e.Keys, 0)...)...)
		return
	}
	add(RelationAgain, w.unrelate(e), "settle", "remove-application "+stub)
	if len(y.joined[stub]) < maxUnits {
		add(OrderOfRelations, "stub-join "+stub)
	}
	for _, n := range y.joined[stub] {
		if len(e.Keys) > 0 {
			add(OrderOfRelations, e.publish(e.Keys, n)...)
			some := shuffled(e.Keys, chance)[:1+chance.IntN(len(e.Keys))]
			add(EmptyDatabag, e.publish(some, n)...)
		}
		add(RemoteGone, fmt.Sprintf("stub-leave %s/%d", stub, n))
	}
	for _, k := range e.Keys {
		if name := e.secretName(k); k.Kind == Secret && y.secrets[name] == "there" {
			add(Secrets, w.secret("update-secret", e, k, "second"))
			add(Secrets, fmt.Sprintf("revoke-secret %s %s", name, w.Application()))
			add(Secrets, "remove-secret "+name)
		}
	}
}

// unitMoves are those of the charm's own units.
func (w World) unitMoves(y yard, chance *rand.Rand, add func(string, ...string)) {
	if w.peers() && len(y.units) < maxUnits {
		add(Settles, w.addUnit())
	}
	if len(y.units) > 1 {
		most := len(y.units)
		if w.pods() {
			most = 2
		}
		for _, n := range y.units[1:most] { // the first is the one that all is done to
			add(LastUnit, w.removeUnit(n))
		}
		add(LeaderLost, w.app("lose-leadership %s"))
	}
	for _, call := range slices.Concat(w.Actions, w.More) {
		add(StorageGone, "run "+w.Unit()+" "+call)
	}
	for _, s := range w.optional() {
		switch y.storage[s] {
		case "":
			add(StorageGone, "add-storage "+w.Unit()+" "+s)
		case "attached":
			add(StorageGone, "detach-storage "+y.kept[s])
		case "detached":
			add(StorageGone, fmt.Sprintf("attach-storage %s %s", w.Unit(), y.kept[s]))
		}
	}
	// Only a change brings the hook that the agent is to be killed in; whatever it is in, it ends.
	if c := w.change(); len(c) > 0 && !y.wrong[optionOf(c[0][0])] {
		kill := fmt.Sprintf("kill-agent at ended %s config-changed", w.Unit())
		add(Killed, slices.Concat([]string{kill}, c[0][:1], again)...)
	}
}

// walk has a player walk from one place, a few times.
func (c *search) walk(ctx context.Context, p *player) {
	c.mu.Lock()
	from := c.walker.from()
	c.mu.Unlock()
	begin := from.lines()
	for range walksFrom {
		c.mu.Lock()
		if c.over(ctx) || len(c.queue) > 0 {
			c.mu.Unlock()
			return
		}
		t := c.walker.on(from)
		removed := c.walker.chance.IntN(walksFrom) == 0
		c.report.Walks++
		c.mu.Unlock()
		whole := t
		if removed {
			whole = append(slices.Clone(t), move{Removal, c.world.remove()})
		}
		err := p.play(begin, whole.lines()[len(begin):])
		fresh := c.look(p)
		var f *failed
		if errors.As(err, &f) {
			promise := whole.promiseAt(f.at)
			switch {
			case f.misuse:
			case !slices.Contains(c.Promises, promise): // somebody has asked for others
				continue
			case strings.HasPrefix(f.line, "run ") && !strings.Contains(f.why, "hook failed"): // an action may say no
				continue
			}
			c.judge(ctx, p, probe{promise: promise, parts: [][]string{whole.lines()}}, err)
			continue
		}
		c.judge(ctx, p, probe{}, err)
		if fresh && err == nil {
			c.mu.Lock()
			c.walker.keep(t)
			c.mu.Unlock()
		}
	}
}
