// Web serves one file: for images of test charms. It stands for a workload that
// a charm configures by a file and a layer.
//
//	web [-listen :8080] [-file /srv/index.html]
//
// "/" has the file as it is at that moment, and 404 as long as there is none.
// "/health" says 200 if there is one, else 503, for checks. "/whoami" has the user
// and group ids of the process, and $GREETING. Each request is a line on standard
// output. SIGTERM ends it with exit code 0.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	listen := flag.String("listen", ":8080", "`address` and port")
	file := flag.String("file", "/srv/index.html", "`path` of what is served")
	flag.Parse()
	if err := serve(*listen, *file); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

// serve returns when it is told to end, or can't listen.
func serve(address, file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("listening on", listener.Addr())
	server := &http.Server{Handler: logged(handler(file))}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	fmt.Println("ended")
	return nil
}

func handler(file string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(file)
		if err != nil {
			http.Error(w, "there is no page yet", http.StatusNotFound)
			return
		}
		_, _ = w.Write(text)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(file); err != nil {
			http.Error(w, "no page", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /whoami", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%d:%d %s\n", os.Getuid(), os.Getgid(), os.Getenv("GREETING"))
	})
	return mux
}

// logged prints each request.
func logged(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path)
		h.ServeHTTP(w, r)
	})
}
