package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

// childEnv makes the test binary a child process that works on the store whose
// path it holds, as its standard input tells it to; see perform.
const childEnv = "UNITD_TEST_STORE"

func TestMain(m *testing.M) {
	path := os.Getenv(childEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := serve(path, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve performs one request a line and answers each with a line.
func serve(path string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	s, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	for lines.Scan() {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		if err := perform(s, verb, arg, out); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
		fmt.Fprintln(out, "done")
	}
	return lines.Err()
}

func perform(s store.Store, verb, arg string, out io.Writer) error {
	ctx := context.Background()
	opts := []store.Option{store.Relaxed}
	if verb == "durable" || arg == "durable" {
		opts = nil
	}
	put := func(key, value string) error {
		_, err := s.Update(ctx, func(tx store.Tx) error { return tx.Put(key, []byte(value)) }, opts...)
		return err
	}
	switch verb {
	case "put": // a key
		return put(arg, "v")
	case "stamp": // a key: gives it the time before the commit as its value
		return put(arg, fmt.Sprint(time.Now().UnixNano()))
	case "durable", "relaxed", "mixed": // so many commits
		n := 0
		if _, err := fmt.Sscan(arg, &n); err != nil {
			return err
		}
		for i := range n {
			if verb == "mixed" && i%2 == 0 {
				if err := addOne(ctx, s, nil); err != nil {
					return err
				}
				continue
			}
			if err := addOne(ctx, s, opts); err != nil {
				return err
			}
		}
		return nil
	case "lease": // for so long, with the key "leased"
		d, err := time.ParseDuration(arg)
		if err != nil {
			return err
		}
		id, err := s.Grant(ctx, d)
		if err != nil {
			return err
		}
		_, err = s.Update(ctx, func(tx store.Tx) error { return tx.PutLease("leased", nil, id) })
		return err
	case "stream": // durable or not: commits until it is killed
		for i := 1; ; i++ {
			rev, err := s.Update(ctx, func(tx store.Tx) error {
				for k := range streamKeys {
					if err := tx.Put(fmt.Sprint("k/", k), fmt.Append(nil, i)); err != nil {
						return err
					}
				}
				return nil
			}, opts...)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, i, rev)
		}
	case "locked": // says whether another process has its lock on the database
		f, err := os.OpenFile(os.Getenv(childEnv), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		// Where SQLite's shared lock is, according to its file format.
		lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 0x40000002, Len: 510}
		if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil {
			return err
		}
		fmt.Fprintln(out, lock.Type != syscall.F_UNLCK)
		return nil
	case "hang": // within a transaction, until it is killed
		_, err := s.Update(ctx, func(tx store.Tx) error {
			if err := tx.Put("hung", nil); err != nil {
				return err
			}
			fmt.Fprintln(out, "hanging")
			select {}
		})
		return err
	}
	return fmt.Errorf("unknown request")
}

// streamKeys is how many keys each transaction of "stream" writes.
const streamKeys = 5

func addOne(ctx context.Context, s store.Store, opts []store.Option) error {
	_, err := s.Update(ctx, func(tx store.Tx) error {
		n := 0
		if kv, err := tx.Get("n"); err == nil {
			if _, err := fmt.Sscan(string(kv.Value), &n); err != nil {
				return err
			}
		}
		return tx.Put("n", fmt.Append(nil, n+1))
	}, opts...)
	return err
}

// child is a running child process.
type child struct {
	testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// start starts a child; before is what runs it, such as strace with its flags.
func start(t testing.TB, path string, before ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(before, self)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &child{TB: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
}

// ask sends a request and doesn't wait for the answer.
func (c *child) ask(format string, args ...any) {
	c.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.Fatal(err)
	}
}

// line is the next line that the child says.
func (c *child) line() string {
	c.Helper()
	if !c.out.Scan() {
		c.Fatalf("the child has ended: %v", c.out.Err())
	}
	return c.out.Text()
}

// do sends a request and waits until it is done.
func (c *child) do(format string, args ...any) {
	c.Helper()
	c.ask(format, args...)
	if line := c.line(); line != "done" {
		c.Fatalf("the child said %q", line)
	}
}

// finish lets the child close its store and end.
func (c *child) finish() {
	c.Helper()
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		c.Fatalf("the child failed: %v", err)
	}
}

// kill kills the child where it is and returns what it had said by then.
func (c *child) kill() (said []string) {
	c.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.Fatal(err)
	}
	for c.out.Scan() {
		said = append(said, c.out.Text())
	}
	_ = c.cmd.Wait() // "signal: killed"
	return said
}
