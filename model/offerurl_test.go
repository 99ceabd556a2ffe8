package model_test

import (
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

func TestParseOfferURL(t *testing.T) {
	t.Parallel()
	const form = "application offer URL has invalid form, must be [<user/]<model>.<appname>: "
	for _, tt := range []struct {
		name, in string
		want     model.OfferURL
		fails    string
	}{
		{name: "a model and an offer", in: "harbour.db", want: model.OfferURL{Model: "harbour", Offer: "db"}},
		{name: "an owner", in: "admin/harbour.db", want: model.OfferURL{Owner: "admin", Model: "harbour", Offer: "db"}},
		{name: "a controller, with one colon", in: "unitd:admin/harbour.db", want: model.OfferURL{Controller: "unitd", Owner: "admin", Model: "harbour", Offer: "db"}},
		{name: "an endpoint, with one colon", in: "admin/harbour.db:sql", want: model.OfferURL{Owner: "admin", Model: "harbour", Offer: "db", Endpoint: "sql"}},
		{name: "an endpoint with a hyphen, which is no model", in: "harbour.db:my-sql", want: model.OfferURL{Model: "harbour", Offer: "db", Endpoint: "my-sql"}},
		{name: "both, with two colons", in: "unitd:harbour.db:sql", want: model.OfferURL{Controller: "unitd", Model: "harbour", Offer: "db", Endpoint: "sql"}},
		{name: "three colons", in: "a:b:c.d:e", fails: form + `"a:b:c.d:e"`},
		{name: "two slashes", in: "a/b/c.d", fails: form + `"a/b/c.d"`},
		{name: "two dots", in: "a.b.c", fails: form + `"a.b.c"`},
		{name: "no model", in: "admin/.db", fails: "application offer URL is missing model"},
		{name: "no offer", in: "harbour", fails: "application offer URL is missing application"},
		{name: "an owner that can't be", in: "-x/harbour.db", fails: `user name "-x" not valid`},
		{name: "a model that can't be", in: "Harbour.db", fails: `model name "Harbour" not valid`},
		{name: "an offer that can't be", in: "harbour.1", fails: `application name "1" not valid`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := model.ParseOfferURL(tt.in)
			switch {
			case tt.fails != "" && (err == nil || err.Error() != tt.fails || !errors.Is(err, errors.NotValid)):
				t.Errorf("%q is %+v, %v; want the error %q", tt.in, got, err, tt.fails)
			case tt.fails == "" && (err != nil || got != tt.want):
				t.Errorf("%q is %+v, %v; want %+v", tt.in, got, err, tt.want)
			case tt.fails == "" && got.String() != tt.in:
				t.Errorf("%q is printed as %q", tt.in, got)
			}
		})
	}
}
