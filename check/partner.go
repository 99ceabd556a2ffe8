package check

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Partner is a charm that is the other side of an endpoint while a world is learned: what it
// publishes is what the stub publishes from then on.
type Partner struct {
	// Dir is where it is, ready to be deployed, and Endpoint the one of it that is related.
	Dir, Endpoint string
}

// PartnerOf says that a charm is the other side of an endpoint. The error says why it can't be.
func (s *Subject) PartnerOf(endpoint string, charm model.Charm, dir string) error {
	stubs := s.stubs()
	i := slices.IndexFunc(stubs, func(e Endpoint) bool { return e.Name == endpoint })
	if i < 0 {
		return errors.NotFoundf("endpoint %q of %s that another application can be related to", endpoint, s.Charm.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(charm.Endpoints)) {
		if e := charm.Endpoints[name]; e.Interface == stubs[i].Interface && string(e.Role) == stubs[i].Role && e.Scope != model.Container {
			if s.Partners == nil {
				s.Partners = map[string]Partner{}
			}
			s.Partners[endpoint] = Partner{dir, name}
			return nil
		}
	}
	return errors.NotFoundf("%s of %s in %s, for the endpoint %q,", stubs[i].Role, stubs[i].Interface, charm.Name, endpoint)
}

// unitShown is what show-unit says of the charm's unit.
type unitShown struct {
	Relations []struct {
		Endpoint    string            `json:"endpoint"`
		Application map[string]string `json:"application-data"`
		Units       map[string]struct {
			Data map[string]string `json:"data"`
		} `json:"related-units"`
	} `json:"relation-info"`
}

// learnPartner has an endpoint's partner, if it has one, publish to the charm, and takes what it
// has published. The partner has the stub's name, so that what names it names the stub. One that
// fails has told what it had published until then.
func (p *player) learnPartner(ctx context.Context, w *World, i int) error {
	e := &w.Endpoints[i]
	partner, ok := p.subject.Partners[e.Name]
	if !ok {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return errors.Trace(err)
	}
	err := p.play(w.deploy(1), []string{"deploy " + quoted(partner.Dir) + " " + e.Stub(), "settle"})
	if err == nil {
		err = p.lines([]string{"integrate " + w.Application() + ":" + e.Name + " " + e.Stub() + ":" + partner.Endpoint, "settle"}, 0)
	}
	if err != nil && !errors.As(err, new(*failed)) {
		return err
	}
	keys, lookErr := p.published(*e)
	if lookErr != nil {
		return lookErr
	}
	if err != nil {
		w.Odd = append(w.Odd, "the partner of "+e.Name+": "+err.Error())
	} else if len(keys) == 0 {
		w.Odd = append(w.Odd, "the partner of "+e.Name+" has published nothing that a stub could")
	}
	e.Keys = p.subject.keysOf(*e, keys)
	return nil
}

// published are the keys that the partner's unit and application have published.
func (p *player) published(e Endpoint) (keys []Key, err error) {
	told, err := p.do("show-unit", p.subject.Unit(), "--format", "json")
	if err != nil {
		if errors.As(err, new(*failed)) {
			return nil, nil
		}
		return nil, err
	}
	var shown map[string]unitShown
	if err := json.Unmarshal([]byte(told.Stdout), &shown); err != nil {
		return nil, errors.Annotate(err, "cannot read what a partner has published")
	}
	for _, r := range shown[p.subject.Unit()].Relations {
		if r.Endpoint != e.Name {
			continue
		}
		by := publisher{from: Partnered, content: map[string][]string{}}
		for _, unit := range slices.Sorted(maps.Keys(r.Units)) {
			bag := r.Units[unit].Data
			by.address = bag["ingress-address"]
			if err := p.contents(by, bag); err != nil {
				return nil, err
			}
			keys = append(keys, by.keys(bag, UnitBag)...)
			break // the others publish the same kind of thing
		}
		if err := p.contents(by, r.Application); err != nil {
			return nil, err
		}
		keys = append(keys, by.keys(r.Application, AppBag)...)
	}
	return keys, nil
}

// contents asks for the keys of the content of secrets that a databag names.
func (p *player) contents(by publisher, bag map[string]string) error {
	for _, name := range sortedOf(bag) {
		for _, uri := range secretURI.Regexp().FindAllString(bag[name], -1) {
			told, err := p.do("show-secret", idOf(uri), "--reveal", "--format", "json")
			if errors.As(err, new(*failed)) {
				continue
			}
			if err != nil {
				return err
			}
			var shown map[string]struct {
				Content struct{ Data map[string]any } `json:"content"`
			}
			if json.Unmarshal([]byte(told.Stdout), &shown) != nil {
				continue
			}
			for id := range shown {
				by.content[idOf(uri)] = slices.Sorted(maps.Keys(shown[id].Content.Data))
			}
		}
	}
	return nil
}
