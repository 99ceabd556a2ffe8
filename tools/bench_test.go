package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/tools/wire"
)

// The benchmarks time whole processes, as a hook does, one after the other:
// the client that is shipped, the smallest program that makes the same call,
// and a process that does nothing.
func BenchmarkToolCall(b *testing.B)      { benchmarkProcess(b, theClient(b)) }
func BenchmarkMinimalClient(b *testing.B) { benchmarkProcess(b, buildMinimal(b)) }

// The client in C, next to the smallest program of the C library's that makes
// the same call.
func BenchmarkToolCallC(b *testing.B) {
	binary, ok := buildC(b)
	if !ok {
		b.Skip("there is no client in C here")
	}
	benchmarkProcess(b, binary)
}

func BenchmarkMinimalClientC(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "minclient")
	if out, err := exec.Command("cc", "-O2", "-static", "-s", "-o", binary, minimalClient+"/minclient.c").CombinedOutput(); err != nil {
		b.Skipf("no static program of the C library's can be built here: %v %s", err, out)
	}
	benchmarkProcess(b, binary)
}

func BenchmarkBareProcess(b *testing.B) { benchmarkProcess(b, "/bin/true") }

// minimalClient is the smallest program that makes the same call.
const minimalClient = "./testdata/minclient"

func buildMinimal(b *testing.B) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "minclient")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, minimalClient)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func benchmarkProcess(b *testing.B, binary string) {
	s := serve(b, patience)
	env := environment(s, s.Begin(hookOf(newMemory(), plainHook())))
	for b.Loop() {
		cmd := exec.Command(binary, "config-get", "title")
		cmd.Env, cmd.Dir = env, "/"
		out, err := cmd.Output()
		if err != nil || len(out) > 0 && string(out) != "My Title\n" {
			b.Fatalf("%q, %v", out, err)
		}
	}
}

// BenchmarkRoundTrip is the agent's part of a call, with a new connection.
func BenchmarkRoundTrip(b *testing.B) {
	s := serve(b, patience)
	id := s.Begin(hookOf(newMemory(), plainHook()))
	for b.Loop() {
		ask(b, s, title(id))
	}
}

// BenchmarkConfigGet is the agent's part of a call without the socket.
func BenchmarkConfigGet(b *testing.B) {
	c := hookOf(newMemory(), plainHook())
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if reply := Run(c, title("")); len(reply.Stdout) == 0 {
			b.Fatalf("%+v", reply)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "median-ns")
}

// BenchmarkThousandCalls is 1,000 calls in one hook, of which the last hundred
// should cost what the first hundred did: by medians, as a single call may wait
// for the processor as long as many others take.
func BenchmarkThousandCalls(b *testing.B) {
	s := serve(b, patience)
	var first, last []time.Duration
	for b.Loop() {
		id := s.Begin(hookOf(newMemory(), relationHook()))
		for i := range 1000 {
			began := time.Now()
			args := []string{"relation-set", fmt.Sprintf("k%d=v", i)}
			if i%2 == 1 {
				args = []string{"config-get", "title"}
			}
			ask(b, s, wire.Request{Context: id, Dir: "/", Args: args})
			switch {
			case i < 100:
				first = append(first, time.Since(began))
			case i >= 900:
				last = append(last, time.Since(began))
			}
		}
		s.End()
	}
	slices.Sort(first)
	slices.Sort(last)
	b.ReportMetric(float64(last[len(last)/2])/float64(first[len(first)/2]), "last/first")
}

// BenchmarkBatch is a hundred calls by one process, per call.
func BenchmarkBatch(b *testing.B) {
	s := serve(b, patience)
	binary := theClient(b)
	env := environment(s, s.Begin(hookOf(newMemory(), plainHook())))
	const calls = 100
	for b.Loop() {
		cmd := exec.Command(binary, "unitd-batch")
		cmd.Env, cmd.Dir, cmd.Stdin = env, "/", strings.NewReader(strings.Repeat("[\"config-get\",\"title\"]\n", calls))
		if out, err := cmd.Output(); err != nil || strings.Count(string(out), "My Title") != calls {
			b.Fatalf("%q, %v", out, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/call")
}
