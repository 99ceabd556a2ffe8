// Package kube is a small Kubernetes API server, for one unit: the part of the
// API that charms need which patch their own Service or StatefulSet, look at
// their pods, or keep ConfigMaps and Secrets. There is no Kubernetes behind it.
//
//	server, err := kube.New(kube.Config{
//		Application: "web", Unit: "web/0", Token: token, Cluster: kube.NewCluster(objects, clock),
//	})
//	http.Server{Handler: server, TLSConfig: …}   // in the unit's network namespace
//
// What it shows is a function of what there is (Model) and of what charms have
// written (Record): Derive makes the StatefulSet, the Pods, the Services of
// each application from the model, and a record has what a charm has changed of
// such an object, edit by edit, so that the model's own changes still show. An
// object that a charm has made stands whole in its record. Both are read at one
// time through Objects, and a watch is told only to look again.
//
// The answers are those that a service account gets which may work on its own
// application in its own namespace. All else is forbidden, as it is for an
// account without trust, and is logged.
//
// What a charm has changed of the StatefulSet's pod template is told with the record
// (Record.Template), and is a value by TemplateOf. The room does nothing with it:
// whoever runs the containers does.
//
// The account's files, its token and the server's certificate are made by
// account.go.
//
// Source: docs/spec/containers.md §2.2, §5.5. What they leave open is as in the
// public documentation of Kubernetes.
package kube
