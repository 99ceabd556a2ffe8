package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/kube"
)

const token = "the-token"

func created() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// model has an application web with two units, and another one, db.
func model() kube.Model {
	unit := func(n int) kube.Unit {
		return kube.Unit{
			Number: n, ID: fmt.Sprint("pod", n), Address: fmt.Sprintf("10.1.0.%d", n+1), Node: "host", Created: created(),
			Containers: []kube.Container{{Name: "charm", Running: true, Ready: true}, {Name: "httpd", Running: true, Ready: n == 0}},
		}
	}
	return kube.Model{Name: "dev", UUID: "model-uuid", Created: created(), Applications: []kube.Application{
		{Name: "web", ID: "web1", Created: created(), Address: "10.1.1.1", Scale: 2, CharmImage: "charm-base",
			Workloads: []kube.Workload{{Name: "httpd", Image: "httpd:2", Mounts: []kube.Mount{{Storage: "data", Location: "/srv"}}}}, Units: []kube.Unit{unit(0), unit(1)}},
		{Name: "db", ID: "db1", Created: created(), Scale: 1, Ports: []kube.Port{{Number: 5432, Protocol: "tcp"}}, Workloads: []kube.Workload{{Name: "postgres"}}},
	}}
}

// world is a server for web/0, and what it has told.
type world struct {
	*testing.T
	objects *kube.Memory
	url     string
	server  *kube.Server
	mu      sync.Mutex
	logged  []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, objects: &kube.Memory{}}
	w.objects.SetModel(model())
	w.serve("web", "web/0")
	return w
}

func (w *world) serve(application, unit string) {
	w.Helper()
	server, err := kube.New(kube.Config{
		Application: application, Unit: unit, Token: token, Cluster: kube.NewCluster(w.objects, clock.WallClock),
		Log: func(line string) { w.mu.Lock(); defer w.mu.Unlock(); w.logged = append(w.logged, line) },
	})
	if err != nil {
		w.Fatal(err)
	}
	s := httptest.NewServer(server)
	w.Cleanup(s.Close)
	w.url, w.server = s.URL, server
}

// as is the same world for another application's unit.
func (w *world) as(application string) *world {
	other := &world{T: w.T, objects: w.objects}
	other.serve(application, application+"/0")
	return other
}

var types = map[string]string{
	"json": "application/json", "jsonpatch": "application/json-patch+json", "merge": "application/merge-patch+json",
	"strategic": "application/strategic-merge-patch+json", "apply": "application/apply-patch+yaml",
}

// call is one request; how is the method, or a kind of patch.
func (w *world) call(how, path, body string) (int, map[string]any) {
	w.Helper()
	method, as := how, "json"
	if types[how] != "" {
		method, as = "PATCH", how
	}
	req, err := http.NewRequestWithContext(context.Background(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", types[as])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal(data, &o); err != nil {
		w.Fatalf("%s %s: %q: %v", how, path, data, err)
	}
	return resp.StatusCode, o
}

// want makes the call, and has the answer's JSON for the fields.
func (w *world) want(code int, how, path, body string, contains ...string) map[string]any {
	w.Helper()
	got, o := w.call(how, path, body)
	data, err := json.Marshal(o)
	if err != nil {
		w.Fatal(err)
	}
	if got != code {
		w.Fatalf("%s %s: %d %s, want %d", how, path, got, data, code)
	}
	for _, c := range contains {
		if !strings.Contains(string(data), c) {
			w.Errorf("%s %s: %s\nhas no %s", how, path, data, c)
		}
	}
	return o
}

func at(o any, fields ...string) any {
	for _, f := range fields {
		m, _ := o.(map[string]any)
		o = m[f]
	}
	return o
}

const (
	ns  = "/api/v1/namespaces/dev"
	set = "/apis/apps/v1/namespaces/dev/statefulsets/web"
)

// TestAnswers: one request each, on the same objects.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, how, path, body string
		code                  int
		contains              []string
	}{
		{"the stateful set has charm and workloads", "GET", set, "", 200, []string{`"name":"charm"`, `"image":"httpd:2"`, `"replicas":2`, `"readyReplicas":1`, `"serviceName":"web-endpoints"`}},
		{"a pod has its address, state and labels", "GET", ns + "/pods/web-1", "", 200, []string{
			`"podIP":"10.1.0.2"`, `"phase":"Running"`, `"apps.kubernetes.io/pod-index":"1"`, `"statefulset.kubernetes.io/pod-name":"web-1"`, `"nodeName":"host"`, `"ready":false`}},
		{"a service has a placeholder until a port is open", "GET", ns + "/services/web", "", 200, []string{`"port":65535`, `"clusterIP":"10.1.1.1"`}},
		{"a service has the open ports", "GET", ns + "/services/db", "", 200, []string{`"port":5432`, `"targetPort":5432`, `"protocol":"TCP"`}},
		{"the endpoints' service has no address", "GET", ns + "/services/web-endpoints", "", 200, []string{`"clusterIP":"None"`}},
		{"the namespace is the model", "GET", "/api/v1/namespaces/dev", "", 200, []string{`"model.juju.is/id":"model-uuid"`, `"phase":"Active"`}},
		{"the service account is the application's", "GET", ns + "/serviceaccounts/web", "", 200, []string{`"kind":"ServiceAccount"`}},
		{"pods by label", "GET", ns + "/pods?labelSelector=app.kubernetes.io%2Fname%3Dweb", "", 200, []string{`"kind":"PodList"`, `"web-0"`, `"web-1"`}},
		{"objects by name", "GET", ns + "/pods?fieldSelector=metadata.name%3Dweb-7", "", 200, []string{`"items":[]`}},
		{"of all namespaces there is one", "GET", "/api/v1/pods", "", 200, []string{`"web-0"`}},
		{"namespaces", "GET", "/api/v1/namespaces", "", 200, []string{`"NamespaceList"`, `"dev"`}},
		{"versions", "GET", "/version", "", 200, []string{`"major":"1"`}},
		{"versions of the core", "GET", "/api", "", 200, []string{`"versions":["v1"]`}},
		{"groups", "GET", "/apis", "", 200, []string{`"name":"apps"`}},
		{"one group", "GET", "/apis/apps", "", 200, []string{`"APIGroup"`}},
		{"resources of the core", "GET", "/api/v1", "", 200, []string{`"name":"configmaps"`, `"shortNames":["svc"]`}},
		{"resources of a group", "GET", "/apis/apps/v1", "", 200, []string{`"name":"statefulsets"`}},

		{"a name that isn't there", "GET", ns + "/pods/web-7", "", 404, []string{`"message":"pods \"web-7\" not found"`, `"reason":"NotFound"`}},
		{"another namespace", "GET", "/api/v1/namespaces/other/pods", "", 403, []string{
			`"message":"pods is forbidden: User \"system:serviceaccount:dev:web\" cannot list resource \"pods\" in API group \"\" in the namespace \"other\""`}},
		{"another namespace itself", "GET", "/api/v1/namespaces/other", "", 403, []string{`cannot get resource \"namespaces\" in API group \"\" at the cluster scope`}},
		{"a kind that isn't answered for", "GET", "/apis/networking.k8s.io/v1/namespaces/dev/ingresses/x", "", 403, []string{`ingresses.networking.k8s.io \"x\" is forbidden`}},
		{"another version", "GET", "/apis/apps/v1beta1/namespaces/dev/statefulsets/web", "", 403, nil},
		{"nodes", "GET", "/api/v1/nodes", "", 403, []string{`cannot list resource \"nodes\" in API group \"\" at the cluster scope`}},
		{"exec", "POST", ns + "/pods/web-0/exec", "", 403, []string{`cannot create resource \"pods/exec\"`}},
		{"a pod can't be deleted", "DELETE", ns + "/pods/web-0", "", 403, []string{`cannot delete resource \"pods\"`}},
		{"all at once can't be deleted", "DELETE", ns + "/configmaps", "", 403, []string{"cannot deletecollection"}},
		{"another path", "GET", "/metrics", "", 403, []string{`forbidden: User \"system:serviceaccount:dev:web\" cannot get path \"/metrics\"`}},
		{"another application's objects can be read", "GET", "/apis/apps/v1/namespaces/dev/statefulsets/db", "", 200, nil},
		{"and not be changed", "merge", "/apis/apps/v1/namespaces/dev/statefulsets/db", `{}`, 403, []string{`cannot patch resource \"statefulsets\"`}},

		{"a selector that isn't one", "GET", ns + "/pods?labelSelector=%3D", "", 400, []string{"unable to parse requirement"}},
		{"a field that can't be selected by", "GET", ns + "/pods?fieldSelector=spec.x%3D1", "", 400, []string{"field label not supported"}},
		{"the scale is the model's", "merge", set, `{"spec":{"replicas":5}}`, 422, []string{"spec.replicas: Forbidden"}},
		{"what a set can't be changed in", "merge", set, `{"spec":{"serviceName":"x"}}`, 422, []string{"are forbidden"}},
		{"what a pod can't be changed in", "strategic", ns + "/pods/web-0", `{"spec":{"containers":[{"name":"httpd","image":"x"}]}}`, 422, []string{"pod updates may not change"}},
		{"an amount that isn't one", "strategic", set, `{"spec":{"template":{"spec":{"containers":[{"name":"httpd","resources":{"limits":{"cpu":"lots"}}}]}}}}`, 400, []string{"quantities must match"}},
		{"requests over the limit", "strategic", set, `{"spec":{"template":{"spec":{"containers":[{"name":"httpd","resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1001m"}}}]}}}}`, 422, []string{"must be less than or equal to cpu limit"}},
		{"a status isn't the charm's", "merge", set, `{"status":{"readyReplicas":9}}`, 200, []string{`"readyReplicas":1`}},
		{"a version that is over", "merge", set, `{"metadata":{"resourceVersion":"1"}}`, 409, []string{"the object has been modified"}},
		{"another uid", "merge", set, `{"metadata":{"uid":"x"}}`, 409, []string{"Precondition failed"}},
		{"a patch of no kind", "PATCH", set, `{}`, 415, nil},
		{"a patch that is none", "jsonpatch", set, `{}`, 400, nil},
		{"a JSON patch whose test fails", "jsonpatch", set, `[{"op":"test","path":"/metadata/name","value":"x"}]`, 422, nil},
		{"an apply without a manager", "apply", set, `{"apiVersion":"apps/v1","kind":"StatefulSet"}`, 422, []string{"fieldManager"}},
		{"an apply of another kind", "apply", set + "?fieldManager=m", `{"apiVersion":"v1","kind":"Pod"}`, 400, nil},
		{"an apply that conflicts", "apply", set + "?fieldManager=m", "apiVersion: apps/v1\nkind: StatefulSet\nspec: {template: {spec: {containers: [{name: httpd, image: mine}]}}}", 409,
			[]string{`conflict with \"juju\": .spec.template.spec.containers[name=\"httpd\"].image`, `"reason":"Conflict"`}},
		{"a patch of what isn't there", "merge", ns + "/configmaps/none", `{}`, 404, nil},
		{"a name that can't be", "POST", ns + "/configmaps", `{"metadata":{"name":"A b"}}`, 422, []string{`ConfigMap \"A b\" is invalid`}},
		{"no name", "POST", ns + "/configmaps", `{"metadata":{}}`, 422, nil},
		{"no object", "POST", ns + "/configmaps", `[`, 400, nil},
		{"data that isn't text", "POST", ns + "/configmaps", `{"metadata":{"name":"a"},"data":{"x":1}}`, 400, nil},
		{"a secret that isn't encoded", "POST", ns + "/secrets", `{"metadata":{"name":"a"},"data":{"x":"%"}}`, 400, []string{"illegal base64"}},
		{"a port that can't be", "POST", ns + "/services", `{"metadata":{"name":"a"},"spec":{"ports":[{"port":0}]}}`, 422, []string{"must be between 1 and 65535"}},
		{"ports without names", "POST", ns + "/services", `{"metadata":{"name":"a"},"spec":{"ports":[{"port":1},{"port":2}]}}`, 422, []string{"spec.ports.name"}},
		{"what is there already", "POST", ns + "/services", `{"metadata":{"name":"web"},"spec":{}}`, 409, []string{`"reason":"AlreadyExists"`}},
		{"a trial of no kind", "POST", ns + "/configmaps?dryRun=maybe", `{"metadata":{"name":"a"}}`, 422, nil},
		{"trust, asked after", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"resourceAttributes":{"namespace":"dev","verb":"patch","group":"apps","resource":"statefulsets","name":"web"}}}`, 201, []string{`"allowed":true`}},
		{"trust beyond, asked after", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"resourceAttributes":{"namespace":"dev","verb":"delete","resource":"pods","name":"web-0"}}}`, 201, []string{`"allowed":false`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.want(c.code, c.how, c.path, c.body, c.contains...)
			if w.mu.Lock(); (c.code == 403) != (len(w.logged) == 1) {
				t.Errorf("%d has logged %q", c.code, w.logged)
			}
			w.mu.Unlock()
		})
	}
}

func TestWithoutTheTokenThereAreVersionsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		path, auth string
		code       int
	}{
		{"/healthz", "", 200}, {"/version", "", 200}, {"/api", "", 401}, {set, "", 401}, {set, "Bearer other", 401}, {set, token, 401}, {set, "Bearer " + token + "\n", 200},
	} {
		r := httptest.NewRequest("GET", c.path, nil)
		r.Header.Set("Authorization", c.auth)
		resp := httptest.NewRecorder()
		w.server.ServeHTTP(resp, r)
		if resp.Code != c.code {
			t.Errorf("%s with %q: %d %s", c.path, c.auth, resp.Code, resp.Body)
		}
	}
}

func TestAChangedTemplateIsToldAndShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const patch = `{"spec":{"template":{"metadata":{"annotations":{"a":"b"}},"spec":{"containers":[{"name":"httpd","env":[{"name":"X","value":"1"}],` +
		`"resources":{"limits":{"cpu":"500m","memory":"1Gi"}}}]}}}}`
	w.want(200, "strategic", set+"?dryRun=All", patch, `"cpu":"500m"`)
	w.want(200, "strategic", set, patch, `"cpu":"500m"`, `"updatedReplicas":0`)
	w.want(200, "strategic", set, patch) // it changes nothing
	v, err := w.objects.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := kube.TemplateOf(v, "web")
	if err != nil {
		t.Fatal(err)
	}
	if own, err := kube.TemplateOf(kube.View{Model: model()}, "web"); err != nil || own.Changed != "" || got.Changed == "" || got.Changed != v.Records[0].Template {
		t.Errorf("it was %q, is %q, and told with the record as %q: %v", own.Changed, got.Changed, v.Records[0].Template, err)
	}
	if c := got.Containers[1]; c.Name != "httpd" || c.Limits != (kube.Resources{MilliCPU: 500, Memory: 1 << 30}) || c.Env["X"] != "1" || got.Annotations["a"] != "b" {
		t.Errorf("told %+v", got)
	}
	pod := w.want(200, "GET", ns+"/pods/web-0", "")
	if b, _ := json.Marshal(pod); strings.Contains(string(b), "500m") {
		t.Errorf("the pod that is there has what only a new one has: %s", b)
	}
	// The pod is replaced, and the model goes on.
	m := model()
	m.Applications[0].Units[0].ID, m.Applications[0].Units[0].Template = "pod0b", got.Raw
	m.Applications[0].Scale, m.Applications[0].Workloads[0].Image = 3, "httpd:3"
	w.objects.SetModel(m)
	w.want(200, "GET", ns+"/pods/web-0", "", `"requests":{"cpu":"500m","memory":"1Gi"}`, `"image":"httpd:2"`)
	w.want(200, "GET", set, "", `"replicas":3`, `"image":"httpd:3"`, `"cpu":"500m"`)
	if v, err = w.objects.View(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, err := kube.TemplateOf(v, "web"); err != nil || now.Changed != got.Changed || now.Revision == got.Revision {
		t.Errorf("with the model's own change it is %+v, %v", now, err)
	}
	w.want(200, "merge", set, `{"metadata":{"labels":{"x":"y"}}}`)
	var back []string
	for _, path := range []string{"metadata annotations a", "spec containers 1 resources limits", "spec containers 1 env 2"} {
		back = append(back, `{"op":"remove","path":"/`+strings.ReplaceAll("spec template "+path, " ", "/")+`"}`)
	}
	w.want(200, "jsonpatch", set, "["+strings.Join(back, ",")+"]")
	if v, err = w.objects.View(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, err := kube.TemplateOf(v, "web"); err != nil || now.Changed != "" {
		t.Errorf("once all is taken back it is %+v, %v", now, err)
	}
}

func TestWhatIsNotAnsweredIsLoggedOnceForEachKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/api/v1/nodes/a", "/api/v1/nodes/b", "/api/v1/nodes", ns + "/pods/a/log", ns + "/pods/b/log", ns + "/pods/x"} {
		w.call("GET", path, "")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.logged) != 3 || !strings.Contains(w.logged[0], "GET /api/v1/nodes/a of web/0: 403 ") {
		t.Errorf("logged %q", w.logged)
	}
}

func TestChangesOfADerivedObjectEndWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(200, "merge", ns+"/pods/web-1", `{"metadata":{"labels":{"role":"primary"}}}`, `"role":"primary"`)
	w.want(200, "GET", ns+"/pods?labelSelector=role%3Dprimary", "", "web-1")
	stale := func() int {
		v, err := w.objects.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(kube.Stale(v))
	}
	if stale() != 0 {
		t.Error("what is shown is stale")
	}
	m := model()
	m.Applications[0].Units[1].ID = "another"
	w.objects.SetModel(m)
	w.want(200, "GET", ns+"/pods?labelSelector=role%3Dprimary", "", `"items":[]`)
	if stale() != 1 {
		t.Error("what isn't shown isn't stale")
	}
	w.want(200, "merge", ns+"/pods/web-1", `{"metadata":{"labels":{"role":"replica"}}}`, `"role":"replica"`)
	if stale() != 0 {
		t.Error("a new change is stale")
	}
}

func TestAServiceIsPatchedDeletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const svc = ns + "/services/web"
	w.want(200, "merge", svc, `{"spec":{"ports":[{"name":"http","port":80,"targetPort":8080}]}}`, `"port":80`, `"protocol":"TCP"`)
	o := w.want(200, "GET", svc, "")
	w.want(200, "DELETE", svc, `{"preconditions":{"uid":"`+at(o, "metadata", "uid").(string)+`"}}`, `"Success"`)
	w.want(404, "GET", svc, "")
	w.want(404, "DELETE", svc, "")
	again := w.want(201, "POST", ns+"/services", `{"metadata":{"name":"web"},"spec":{"ports":[{"port":81}],"selector":{"app.kubernetes.io/name":"web"}}}`, `"clusterIP":"10.1.1.1"`, `"targetPort":81`)
	if at(again, "metadata", "uid") == at(o, "metadata", "uid") {
		t.Error("the new service is the old one")
	}
	w.want(201, "apply", ns+"/services/web-lb?fieldManager=web", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web-lb"},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}}`)
	w.want(200, "apply", ns+"/services/web-lb?fieldManager=web", `{"apiVersion":"v1","kind":"Service","spec":{"type":"LoadBalancer","ports":[{"port":443}]}}`, `"port":443`)
	if o := w.want(200, "GET", ns+"/services/web-lb", ""); len(at(o, "spec", "ports").([]any)) != 1 {
		t.Errorf("the port that isn't applied any more is there: %v", o)
	}
}

func TestSecretsAreTheApplicationsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(201, "POST", ns+"/secrets", `{"metadata":{"name":"s","labels":{"a":"b"}},"stringData":{"password":"hush"}}`, `"password":"aHVzaA=="`, `"type":"Opaque"`)
	w.want(201, "POST", ns+"/configmaps", `{"metadata":{"name":"c"},"data":{"k":"v"}}`)
	db := w.as("db")
	db.want(403, "GET", ns+"/secrets/s", "")
	db.want(403, "DELETE", ns+"/secrets/s", "")
	db.want(200, "GET", ns+"/secrets", "", `"items":[]`)
	db.want(200, "GET", ns+"/configmaps/c", "", `"k":"v"`)
	db.want(403, "merge", ns+"/configmaps/c", `{}`)
	w.want(200, "GET", ns+"/secrets?labelSelector=a", "", `"s"`)
	m := model()
	m.Applications = m.Applications[1:]
	w.objects.SetModel(m)
	db.want(404, "GET", ns+"/configmaps/c", "")
}
