package kube_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/kube"
)

func TestOfTwoWhoReplaceOneIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(201, "POST", ns+"/configmaps", `{"metadata":{"name":"c"},"data":{"k":"1"}}`)
	o := w.want(200, "GET", ns+"/configmaps/c", "")
	version := at(o, "metadata", "resourceVersion").(string)
	body := func(v string) string {
		return `{"metadata":{"name":"c","resourceVersion":"` + version + `"},"data":{"k":"` + v + `"}}`
	}
	w.want(200, "PUT", ns+"/configmaps/c", body("2"), `"k":"2"`)
	w.want(409, "PUT", ns+"/configmaps/c", body("3"), "the object has been modified")
	w.want(200, "jsonpatch", ns+"/configmaps/c", `[{"op":"test","path":"/data/k","value":"2"},{"op":"add","path":"/data/l","value":"4"}]`, `"l":"4"`)

	// Many at once: each patch without a version is made.
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { w.call("merge", ns+"/configmaps/c", fmt.Sprintf(`{"data":{"n%d":"x"}}`, i)) })
	}
	all.Wait()
	if o := w.want(200, "GET", ns+"/configmaps/c", ""); len(at(o, "data").(map[string]any)) != 10 {
		t.Errorf("patches are lost: %v", at(o, "data"))
	}
}

// overtaken is Objects in which somebody else writes just before the first Put.
type overtaken struct {
	*kube.Memory
	once sync.Once
	by   func()
}

func (o *overtaken) Put(ctx context.Context, rec kube.Record) error {
	o.once.Do(o.by)
	return o.Memory.Put(ctx, rec)
}

func TestAPatchThatWasOvertakenIsMadeAnew(t *testing.T) {
	t.Parallel()
	other := newWorld(t)
	other.want(201, "POST", ns+"/configmaps", `{"metadata":{"name":"c"},"data":{"k":"1"}}`)
	objects := &overtaken{Memory: other.objects, by: func() { other.want(200, "merge", ns+"/configmaps/c", `{"data":{"theirs":"x"}}`) }}
	server, err := kube.New(kube.Config{Application: "web", Unit: "web/1", Token: token, Cluster: kube.NewCluster(objects, clock.WallClock)})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	w := &world{T: t, url: s.URL}
	w.want(200, "merge", ns+"/configmaps/c", `{"data":{"ours":"y"}}`, `"ours":"y"`, `"theirs":"x"`, `"k":"1"`)
}
