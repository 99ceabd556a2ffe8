package tools

import (
	"os/exec"
	"testing"
)

// The benchmarks time whole processes, as a hook does, one after the other:
// the client that is shipped, the smallest program that makes the same call,
// and a process that does nothing.
func BenchmarkToolCall(b *testing.B)      { benchmarkProcess(b, buildClient(b, realClient)) }
func BenchmarkMinimalClient(b *testing.B) { benchmarkProcess(b, buildClient(b, minimalClient)) }
func BenchmarkBareProcess(b *testing.B)   { benchmarkProcess(b, "/bin/true") }

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
