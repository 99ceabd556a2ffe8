package tools

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unitd/unitd/testcharms"
	// The tests build the client: imported, it is part of what a cached result
	// of theirs is valid for.
	_ "github.com/unitd/unitd/tools/client"
)

// TestMain removes the client that was built.
func TestMain(m *testing.M) {
	code := m.Run()
	testcharms.RemovePrograms()
	os.Exit(code)
}

// theClient is the hook tools' client of this module.
func theClient(t testing.TB) string {
	t.Helper()
	path, err := testcharms.Client()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// environment is a hook's, as far as tools look at it.
func environment(s *Server, id string) []string {
	return []string{
		"JUJU_CONTEXT_ID=" + id,
		"JUJU_AGENT_SOCKET_ADDRESS=" + s.Addr(),
		"JUJU_AGENT_SOCKET_NETWORK=unix",
	}
}

// outcome is what a process did.
type outcome struct {
	stdout, stderr string
	code           int
}

func exitOf(t testing.TB, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// buildC builds the client in C, where there is a compiler for it.
func buildC(t testing.TB) (path string, ok bool) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "unitd-hooktool-c")
	out, err := exec.Command("make", "-s", "-C", "..", "c-client", "C_CLIENT="+path).CombinedOutput()
	if _, missing := os.Stat(path); missing != nil {
		t.Logf("there is no client in C here: %v %s", err, out)
		return "", false
	}
	return path, true
}

func TestTheClient(t *testing.T) {
	t.Parallel()
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		testClient(t, theClient(t))
	})
	t.Run("C", func(t *testing.T) {
		t.Parallel()
		if binary, ok := buildC(t); ok {
			testClient(t, binary)
		}
	})
}

func testClient(t *testing.T, program string) {
	// The test's own, as it opens the directories to others.
	links, binary := t.TempDir(), filepath.Join(t.TempDir(), filepath.Base(program))
	content, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(binary, content, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	linkTo(t, links, binary)
	s := serve(t, patience)
	view := newMemory()
	view.config["huge"] = strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	c := hookOf(view, relationHook())
	id := s.Begin(c)
	tool := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(links, args[0]), args[1:]...)
		cmd.Env, cmd.Dir = environment(s, id), t.TempDir()
		return cmd
	}

	t.Run("output and exit codes come through", func(t *testing.T) {
		mustBe(t, "good", exitOf(t, tool("config-get", "title")), outcome{"My Title\n", "", 0})
		mustBe(t, "failing", exitOf(t, tool("state-get", "--strict", "x")), outcome{"", "ERROR \"x\" not found\n", 1})
		mustBe(t, "misused", exitOf(t, tool("config-get", "a", "b")), outcome{"", "ERROR unrecognized args: [\"b\"]\n", 2})
		huge := exitOf(t, tool("config-get", "huge"))
		mustBe(t, "size of the output", len(huge.stdout), 1<<22+1)
	})
	t.Run("under its own name the first argument is the tool", func(t *testing.T) {
		cmd := exec.Command(binary, "config-get", "title")
		cmd.Env = environment(s, id)
		mustBe(t, "outcome", exitOf(t, cmd), outcome{"My Title\n", "", 0})
	})
	t.Run("arguments may be large and files are found from the working directory", func(t *testing.T) {
		mustBe(t, "large", exitOf(t, tool("juju-log", "--", strings.Repeat("x", 131000))), outcome{})
		cmd := tool("state-set", "--file", "in.yaml")
		if err := os.WriteFile(filepath.Join(cmd.Dir, "in.yaml"), []byte("from: file"), 0o600); err != nil {
			t.Fatal(err)
		}
		mustBe(t, "file", exitOf(t, cmd), outcome{})
		mustBe(t, "read back", exitOf(t, tool("state-get", "from")), outcome{"file\n", "", 0})
	})
	t.Run("standard input is sent where it is wanted, at once or when asked for", func(t *testing.T) {
		for _, args := range [][]string{
			{"state-set", "--file", "-"}, {"state-set", "--file=-"}, {"relation-set", "--file", "-"},
			{"relation-set", "--file=-", "--", "a=b"},
			// To the client this "--" ends the flags, to the agent it is a file.
			{"state-set", "--file", "--", "--file", "-"},
		} {
			cmd := tool(args...)
			cmd.Stdin = strings.NewReader("in: " + strings.Repeat("y", 60_000))
			mustBe(t, strings.Join(args, " "), exitOf(t, cmd), outcome{})
		}
		mustBe(t, "read back", exitOf(t, tool("state-get", "in")).stdout, strings.Repeat("y", 60_000)+"\n")
	})
	t.Run("standard input is left to the caller where it isn't wanted", func(t *testing.T) {
		cmd := exec.Command("/bin/sh", "-c", `while read line; do config-get title; echo "$line"; done`)
		cmd.Env = append(environment(s, id), "PATH="+links)
		cmd.Stdin = strings.NewReader("one\ntwo\n")
		mustBe(t, "outcome", exitOf(t, cmd), outcome{"My Title\none\nMy Title\ntwo\n", "", 0})
	})
	t.Run("a reader that has gone doesn't matter", func(t *testing.T) {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		read.Close()
		defer write.Close()
		cmd := tool("config-get", "huge")
		cmd.Stdout = write
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
	})
	t.Run("a pipe that doesn't block is written whole", func(t *testing.T) {
		var fds [2]int
		if err := syscall.Pipe(fds[:]); err != nil {
			t.Fatal(err)
		}
		if err := syscall.SetNonblock(fds[1], true); err != nil {
			t.Fatal(err)
		}
		// Made of a descriptor that doesn't block, the file is left as it is.
		read, write := os.NewFile(uintptr(fds[0]), "read"), os.NewFile(uintptr(fds[1]), "write")
		defer read.Close()
		cmd := tool("config-get", "huge")
		cmd.Stdout = write
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		write.Close()
		var got bytes.Buffer
		if _, err := got.ReadFrom(read); err != nil {
			t.Fatal(err)
		}
		mustBe(t, "size of the output", got.Len(), 1<<22+1)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("another user is refused by the kernel and by the agent", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can become somebody else")
		}
		// What the test has made is closed to others, as temporary directories are.
		for _, dir := range []string{filepath.Dir(s.Addr()), links, filepath.Dir(binary)} {
			if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(s.Addr(), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := tool("config-get", "title")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		mustBe(t, "outcome", exitOf(t, cmd), outcome{"", "ERROR bad request: permission denied\n", 1})
	})
	s.End()
	mustBe(t, "a process that outlives its hook", exitOf(t, tool("config-get", "title")),
		outcome{"", "ERROR bad request: the context id is not that of a running hook\n", 1})
	written := c.Changes().Relations[3].Unit
	mustBe(t, "a setting that came by standard input", len(written["in"]), 60_000)
	mustBe(t, "a setting behind two hyphens", written["a"], "b")
}

func TestTheClientWithoutAnAgent(t *testing.T) {
	t.Parallel()
	binaries := []string{theClient(t)}
	if binary, ok := buildC(t); ok {
		binaries = append(binaries, binary)
	}
	const id, address, network = "JUJU_CONTEXT_ID=x", "JUJU_AGENT_SOCKET_ADDRESS=/nosuch/socket", "JUJU_AGENT_SOCKET_NETWORK=unix"
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"the context id is looked for first", []string{address, network}, "JUJU_CONTEXT_ID not set"},
		{"then the address", []string{id, network}, "JUJU_AGENT_SOCKET_ADDRESS not set"},
		{"then the network", []string{id, address}, "JUJU_AGENT_SOCKET_NETWORK not set"},
		{"empty is not set", []string{"JUJU_CONTEXT_ID=", address, network}, "JUJU_CONTEXT_ID not set"},
		{"only unix sockets are spoken to", []string{id, address, "JUJU_AGENT_SOCKET_NETWORK=tcp"}, "dial tcp /nosuch/socket: unknown network tcp"},
		{"no agent is there", []string{id, address, network}, "dial unix /nosuch/socket: connect: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, binary := range binaries {
				cmd := exec.Command(binary, "config-get")
				cmd.Env = c.env
				mustBe(t, "outcome", exitOf(t, cmd), outcome{"", "ERROR " + c.want + "\n", 1})
			}
		})
	}
}
