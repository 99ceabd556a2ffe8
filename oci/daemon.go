package oci

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/juju/errors"
)

// dockerSocket is where the daemon listens if the environment doesn't say it.
const dockerSocket = "/var/run/docker.sock"

// openDaemon has the docker daemon save an image, and reads that. It is one request,
// so it needs no client's library.
func openDaemon(ctx context.Context, name, work string) (_ origin, err error) {
	socket, err := daemonSocket(os.Getenv("DOCKER_HOST"))
	if err != nil {
		return nil, errors.Trace(err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	// In a path, the slashes of a name are its own: the daemon wants them so.
	u := &url.URL{Scheme: "http", Host: "docker", Path: "/images/" + name + "/get"}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.Trace(err)
	}
	answer, err := transport.RoundTrip(q)
	if err != nil {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("no docker daemon answers on %s: start it, or save the image with \"docker save\" and give docker-archive:FILE", socket))
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, errors.NewNotFound(nil, "the docker daemon has no image "+name)
	default:
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
		return nil, errors.Errorf("the docker daemon says %s: %s", answer.Status, visibleText(strings.TrimSpace(string(text))))
	}
	f, err := scratch(work)
	if err != nil {
		return nil, errors.Trace(err)
	}
	_, err = io.Copy(f, &bounded{ctx: ctx, r: answer.Body, left: defaultLimits.bytes, dir: work})
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, errors.Annotate(err, "cannot get the image from the docker daemon")
	}
	o, _, err := archiveOrigin(ctx, f, DockerDaemon, work)
	return o, errors.Annotate(err, "what the docker daemon has saved")
}

func daemonSocket(host string) (string, error) {
	if host == "" {
		return dockerSocket, nil
	}
	path, ok := strings.CutPrefix(host, "unix://")
	if !ok || path == "" {
		return "", errors.NewNotSupported(nil, fmt.Sprintf("DOCKER_HOST is %s: only unix:///PATH is supported", visibleText(host)))
	}
	return path, nil
}
