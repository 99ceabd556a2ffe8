package why

import (
	"fmt"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// down is a unit with a container that isn't up: one of which something is wrong,
// or else one that is about to be up.
func down(f Facts) (Answer, bool) {
	var wrong, coming []state.ContainerDoc
	for _, c := range f.Containers {
		switch {
		case c.Down():
			wrong = append(wrong, c)
		case c.State != state.ContainerRunning:
			coming = append(coming, c)
		}
	}
	all := append(wrong, coming...)
	if len(all) == 0 {
		return Answer{}, false
	}
	first := all[0]
	a := Answer{State: Down, Since: first.Since}
	switch {
	case first.Down() && first.NoImage:
		a.Sentence = fmt.Sprintf("cannot get the image of its container %s (%s)", first.Name, first.Fault)
		a.Free = "the agent tries again by itself"
	case first.Down():
		a.Sentence = fmt.Sprintf("has a container that isn't up: %s (%s)", first.Name, first.Fault)
		a.Free = "it is started again by itself"
	case first.Barred():
		a.Sentence = fmt.Sprintf("has a container that can't run: %s, as %s", first.Name, first.Fault)
		a.Free = state.ContainersWay
	case first.State == state.ContainerStopped:
		a.Sentence = fmt.Sprintf("has a container that was stopped: %s", first.Name)
	case first.State == state.ContainerFetching:
		a.Sentence = fmt.Sprintf("waits for its container %s, whose image is being fetched%s", first.Name, f.far(first.Image))
	default:
		a.Sentence = fmt.Sprintf("waits for its container %s, whose Pebble doesn't answer yet", first.Name)
	}
	if more := len(all) - 1; more > 0 {
		a.Sentence += fmt.Sprintf(" (and %d more)", more)
	}
	if hook, ok := f.failedHook(); ok {
		a.Free = strings.TrimPrefix(a.Free+"; ", "; ") + fmt.Sprintf("its failed hook %s (%s) runs again then", hook.Hook, hook.Reason)
	}
	return a, true
}

// next is a unit that goes on with its containers until it can have other ones.
func next(f Facts) (Answer, bool) {
	n := f.Next
	if n == nil {
		return Answer{}, false
	}
	a := Answer{State: Turn, Since: n.Since}
	if n.Fault != "" {
		a.Sentence = fmt.Sprintf("keeps its containers, as it cannot get the next image of container %s (%s)", n.Container, n.Fault)
		a.Free = "the agent tries again by itself"
		return a, true
	}
	a.Sentence = fmt.Sprintf("keeps its containers until the next image of container %s is fetched: %s%s", n.Container, n.Image, f.far(n.Image))
	return a, true
}

// far is how far an image is, in brackets; empty: nobody knows.
func (f Facts) far(image string) string {
	if text := f.Images[image]; text != "" {
		return " (" + text + ")"
	}
	return ""
}

// failedHook is the first hook of a container that has failed and is run again.
func (f Facts) failedHook() (state.FailedHook, bool) {
	for _, c := range f.Containers {
		if len(c.Failed) > 0 {
			return c.Failed[0], true
		}
	}
	return state.FailedHook{}, false
}

// asideElsewhere is aside for a unit of another machine, of which the model says
// enough.
func asideElsewhere(f Facts) (Answer, bool) {
	hook, ok := f.failedHook()
	if f.Known || !ok {
		return Answer{}, false
	}
	name, _, _ := strings.Cut(hook.Hook, " ")
	a := Answer{State: Aside, Hook: name, Free: "it is run again by itself, if Pebble answers in its container"}
	a.Sentence = fmt.Sprintf("goes on without its failed hook %s (%s)", hook.Hook, hook.Reason)
	return a, true
}

// check is a unit with nothing to do, in one of whose containers a check is down.
func check(f Facts) (Answer, bool) {
	var named []string
	for _, c := range f.Containers {
		for _, check := range c.Checks {
			if check.Down() {
				named = append(named, fmt.Sprintf("%s of container %s", check.Name, c.Name))
			}
		}
	}
	if len(named) == 0 {
		return Answer{}, false
	}
	a := Answer{State: Check, Sentence: "has nothing to do, but a check of its Pebble is down: " + named[0]}
	if len(named) > 1 {
		a.Sentence = "has nothing to do, but checks of its Pebbles are down: " + strings.Join(named, ", ")
	}
	return a, true
}

// held is a unit with nothing to do that is to have other containers after another
// one.
func held(f Facts) (Answer, bool) {
	a := Answer{State: Turn, Sentence: "keeps its containers and its charm until it has its turn for other ones", Free: fmt.Sprintf("%s has to be ready first", f.After)}
	return a, f.After != "" && (f.Known || f.Agent.Status == model.StatusIdle)
}
