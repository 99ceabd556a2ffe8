package recording

import (
	"fmt"
)

// Ask answers the next request to a container's Pebble, of which all but the answer
// is known. recorded is the number of the recorded request which the answer is
// from, 0 where there is none: then there is no answer either.
func (p *Player) Ask(a Asked) (answer Asked, number, recorded int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.translate(&a)
	p.asked.made++
	number = p.asked.made
	i := p.asked.find(a, len(p.differences) > 0)
	if i < 0 {
		p.note(p.asked.differs(a))
		i = p.asked.findAnywhere(a)
	}
	if i < 0 {
		return a, number, 0
	}
	p.asked.use(i)
	answer = p.rec.Asked[i].clone()
	for _, c := range answer.contents() {
		if c.Bytes != nil {
			c.Bytes = p.told(c.Bytes)
		}
		if c.LeftOut() && c != &answer.Body.Content && !isIn(c, answer.Body.Parts) {
			p.lacks(number, i, c)
		}
	}
	return answer, number, i + 1
}

func isIn(c *Content, parts []Part) bool {
	for i := range parts {
		if c == &parts[i].Content {
			return true
		}
	}
	return false
}

// translate has the paths of the recording in a request.
func (p *Player) translate(a *Asked) {
	a.Path = p.own.Replace(a.Path)
	for _, c := range a.contents() {
		if c.Bytes != nil {
			c.Bytes = []byte(p.own.Replace(string(c.Bytes)))
		}
	}
}

// lacks notes that an answer was too large for the recording.
func (p *Player) lacks(number, i int, c *Content) {
	p.note(Difference{
		What:         fmt.Sprintf("what Pebble said to request %d is not in the recording: it is %d bytes large", number, c.Size),
		ActualNumber: number, RecordedNumber: i + 1, RecordedAsked: &p.rec.Asked[i],
	})
}

// exec is the command of a container with that task, as it was recorded, and the
// number of the request that has begun it; false: there is none.
func (p *Player) exec(container, task string) (e Exec, number int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, a := range p.rec.Asked {
		if a.Container == container && a.Exec != nil && a.task() == task {
			e = *a.Exec
			e.Stdout.Bytes, e.Stderr.Bytes = p.told(e.Stdout.Bytes), p.told(e.Stderr.Bytes)
			return e, i + 1, true
		}
	}
	return Exec{}, 0, false
}

// given notes what the command of a request was given.
func (p *Player) given(number int, stdin, control *Content) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.execs[number] == nil {
		p.execs[number] = &Exec{}
	}
	if stdin != nil {
		p.execs[number].Stdin = *stdin
	}
	if control != nil {
		p.execs[number].Control = *control
	}
}

// finishExecs compares what commands were given.
func (p *Player) finishExecs() {
	for i, a := range p.rec.Asked {
		if a.Exec == nil || !p.asked.used[i] || len(p.differences) > 0 && !p.keepGoing {
			continue
		}
		now := p.execs[i+1]
		if now == nil {
			now = &Exec{}
		}
		actual := a.clone()
		actual.Exec.Stdin, actual.Exec.Control = now.Stdin, now.Control
		p.translate(&actual)
		for _, c := range []struct {
			what             string
			recorded, actual Content
		}{
			{"standard input", a.Exec.Stdin, actual.Exec.Stdin}, {"control", a.Exec.Control, actual.Exec.Control},
		} {
			if !p.bound.sameContent(p.bound.values, "", c.recorded, c.actual) {
				p.note(Difference{
					What:           fmt.Sprintf("the %s of the command of request %d to Pebble differs", c.what, i+1),
					RecordedNumber: i + 1, RecordedAsked: &p.rec.Asked[i], ActualNumber: i + 1, ActualAsked: &actual,
				})
				break
			}
		}
	}
}
